//! Lines for a person who scrolls: any of them, with their colours.

use super::Log;
use crate::output::Line;
use crate::redact;
use crate::view::{self, StyledLine};
use outlive_core::Timestamp;
use std::io;

/// What is shown of a line of which nothing may be shown.
const WITHHELD: &str = "[redacted]";

/// One line to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowLine {
    /// Counted from 1. Lines that were not kept are left out.
    pub number: u64,
    /// Where it begins in the output.
    pub offset: u64,
    /// When it was written, if that is known.
    pub at: Option<Timestamp>,
    /// Its text and colours. A text in which something is redacted has no colours.
    pub line: StyledLine,
}

impl Log {
    /// How many lines the whole output has. The last one need not be finished.
    pub fn total_lines(&self) -> io::Result<u64> {
        match self.output.size {
            0 => Ok(0),
            size => Ok(1 + self.output.newlines_before(size - 1)?),
        }
    }

    /// The lines that were not kept, or not whole: the first and the last of each gap, and how many bytes are missing there.
    pub fn missing_lines(&self) -> io::Result<Vec<[u64; 3]>> {
        let gaps = self.output.missing().iter().map(|gap| {
            let first = self.output.newlines_before(gap.start)? + 1;
            let last = self.output.newlines_before(gap.end)? + 1;
            Ok([first, last, gap.end - gap.start])
        });
        gaps.collect()
    }

    /// The lines of the part, with their colours.
    pub fn window(&self) -> io::Result<Vec<WindowLine>> {
        let lines = self.output.lines(self.range.clone())?;
        let raw = lines.collect::<io::Result<Vec<Line>>>()?;
        let shown = raw.iter().map(|line| WindowLine {
            number: line.number,
            offset: line.offset,
            at: self.time_of(line),
            line: view::styled(&line.bytes),
        });
        let mut shown: Vec<WindowLine> = shown.collect();
        if self.hides_secrets {
            redact(&self.before()?, &mut shown);
        }
        Ok(shown)
    }
}

/// Removes secrets from lines, after these.
fn redact(before: &str, lines: &mut [WindowLine]) {
    let mut redaction = redact::Lines::after(before);
    let mut left: Vec<Option<String>> = vec![None; lines.len()];
    let mut keep = |place: usize, text: &str| left[place] = Some(text.to_owned());
    for (place, line) in lines.iter().enumerate() {
        redaction.push(place, &format!("{}\n", line.line.text), &mut keep);
    }
    redaction.release(&mut keep);
    for (line, left) in lines.iter_mut().zip(left) {
        let text = left.as_deref().unwrap_or(WITHHELD);
        let text = text.strip_suffix('\n').unwrap_or(text);
        if text != line.line.text {
            line.line = StyledLine {
                text: text.to_owned(),
                runs: Vec::new(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_takes_the_colours_of_its_line_with_it_and_no_line_is_lost() {
        let line = |bytes: &str| WindowLine {
            number: 1,
            offset: 0,
            at: None,
            line: view::styled(bytes.as_bytes()),
        };
        let mut lines = [
            line("\x1b[31mred\x1b[m\n"),
            line("\x1b[31mAPI_TOKEN=abcdefghijklmnopqrstuvwxyz0123456789\x1b[m\n"),
            line("-----BEGIN RSA PRIVATE KEY-----\n"),
            line("MIIEpAIBAAKCAQEAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"),
        ];
        redact("", &mut lines);
        assert_eq!(
            (lines[0].line.text.as_str(), lines[0].line.runs.len()),
            ("red", 1)
        );
        assert!(lines[1].line.text.contains("[redacted") && lines[1].line.runs.is_empty());
        assert!(!lines[3].line.text.contains("MIIE"), "{lines:?}");
    }
}
