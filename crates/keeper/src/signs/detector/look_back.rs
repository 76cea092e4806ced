//! Looking for new patterns in output from before they were asked for.
//!
//! This happens at once, while the job waits if it writes a lot: about a second for a gigabyte. What is found becomes one
//! event, which is journaled in the same write as the change. So a keeper that is killed meanwhile has done either both
//! or nothing, and the request is repeated to its successor.

use super::CHUNK;
use crate::signs::watch::{Patterns, Place, Scanner};
use outlive_core::OutputFiles;
use outlive_core::watch::{Match, Pattern, Watch, keep_line};
use std::io;
use std::ops::Range;

/// A line that is longer than this is taken to begin where the look begins.
const LONGEST_LINE: u64 = 64 * 1024;

/// The lines that matched.
#[derive(Debug)]
pub(super) struct Found {
    pub count: u64,
    pub last: Match,
    pub lines: Vec<String>,
}

/// The beginning of the line that this offset is in.
pub(super) fn line_start(output: &OutputFiles, at: u64) -> io::Result<u64> {
    let from = at.saturating_sub(LONGEST_LINE);
    let mut bytes = vec![0; (at - from) as usize];
    let read = output.read_at(&mut bytes, from)?;
    Ok(match memchr::memrchr(b'\n', &bytes[..read]) {
        Some(newline) => from + newline as u64 + 1,
        None if from == 0 => 0,
        None => at,
    })
}

/// Searches this range for the patterns that are new in a watch. `dropped` is skipped.
pub(super) fn search(
    output: &OutputFiles,
    range: Range<u64>,
    dropped: Range<u64>,
    watch: &Watch,
    added: &[Pattern],
) -> io::Result<Option<Found>> {
    let numbers = to_search(watch, added);
    if numbers
        .iter()
        .all(|number| watch.patterns[*number].is_inverted())
        && watch.patterns.iter().any(|pattern| !pattern.is_inverted())
    {
        return Ok(None);
    }
    let patterns: Vec<Pattern> = numbers
        .iter()
        .map(|number| watch.patterns[*number].clone())
        .collect();
    let patterns = Patterns::compile(&patterns).map_err(|bad| io::Error::other(bad.why))?;
    let start = Place {
        line: range.start,
        from: range.start,
        told: false,
    };
    let mut scanner = Scanner::resume(patterns, start);
    let mut found: Option<Found> = None;
    let mut take = |mut last: Match| {
        last.pattern = last.pattern.map(|number| numbers[number]);
        let (count, mut lines) = found
            .take()
            .map_or_else(Default::default, |it| (it.count, it.lines));
        keep_line(&mut lines, &last.text);
        let count = count + 1;
        found = Some(Found { count, last, lines });
    };
    let mut at = range.start;
    let mut buffer = vec![0; CHUNK];
    while at < range.end {
        if dropped.contains(&at) {
            at = dropped.end;
            scanner.skip_to(at);
            continue;
        }
        let until = match at < dropped.start {
            true => range.end.min(dropped.start),
            false => range.end,
        };
        let most = (until - at).min(CHUNK as u64) as usize;
        let read = output.read_at(&mut buffer[..most], at)?;
        if read == 0 {
            break;
        }
        scanner.push(&buffer[..read], &mut |hit| take(hit.to_match()));
        at += read as u64;
    }
    Ok(found)
}

/// The numbers of the new patterns, and of all that exclude lines.
fn to_search(watch: &Watch, added: &[Pattern]) -> Vec<usize> {
    let patterns = watch.patterns.iter().enumerate();
    let searched = patterns.filter(|(_, it)| it.is_inverted() || added.contains(it));
    searched.map(|(number, _)| number).collect()
}
