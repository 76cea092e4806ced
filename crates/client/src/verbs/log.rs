//! The output of a job.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Receipt;
use crate::inbox::answering::Reservation;
use crate::output::{
    Follow, Line, LinePattern, Look, Output, Piece, Reading, Searched, read_as, read_redacted,
};
use crate::redact::Redactor;
use crate::screen::Emulation;
use crate::verbs::show;
use crate::view::{self, Live};
use outlive_api::job::Job;
use outlive_api::log::{Cursor, LogPage, Screen};
use outlive_core::notice::Kind;
use outlive_core::told::ToldBy;
use outlive_core::{JobId, Timestamp};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Which part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    LastLines(u64),
    /// So many lines from this one on (counted from 1).
    Lines {
        from: u64,
        count: u64,
    },
    Bytes {
        from: u64,
        to: Option<u64>,
    },
    /// What is new since an earlier look.
    After(Cursor),
    /// What came in the last so long, to the second; of that, the last so many lines.
    Since {
        age: Duration,
        lines: Option<u64>,
    },
}

/// A part of an output, to be read.
#[derive(Debug)]
pub struct Log {
    id: JobId,
    output: Output,
    part: Part,
    range: Range<u64>,
    /// The job as it was then.
    job: Job,
    hides_secrets: bool,
    /// Nobody else tells the calling session of the end until this is dropped.
    reserved: Option<Reservation>,
}

/// What a person would see on the job's terminal now.
pub fn screen(outlive: &Outlive, id: &JobId) -> Result<Screen, Error> {
    let (_, spec, state) = show::read(outlive, id)?;
    let emulation = Emulation::of(outlive, &spec, &state)?;
    Ok(match outlive.shows_secrets() {
        true => emulation.screen(id),
        false => emulation.redacted_screen(id),
    })
}

/// Finds the part that was asked for.
pub fn log(outlive: &Outlive, id: &JobId, part: &Part) -> Result<Log, Error> {
    let (job, spec, state) = show::read(outlive, id)?;
    let output = Output::open(outlive, &spec, &state)?;
    let range = find(&output, part).and_then(|range| match part {
        // A character that is only half written is left for the next look.
        Part::After(_) if state.end().is_none() => whole_characters(&output, range),
        _ => Ok(range),
    });
    let range = range.map_err(Error::io("cannot read", outlive.job_dir(id).output()))?;
    let mut log = Log {
        id: id.clone(),
        output,
        part: part.clone(),
        range,
        job,
        hides_secrets: !outlive.shows_secrets(),
        reserved: None,
    };
    if log.hides_secrets {
        // How a line begins may tell what is secret in it.
        let path = log.job.output.path.as_path();
        log.range = log.whole_lines().map_err(Error::io("cannot read", path))?;
    }
    Ok(log)
}

fn find(output: &Output, part: &Part) -> io::Result<Range<u64>> {
    let size = output.size;
    Ok(match part {
        Part::LastLines(lines) => output.tail(*lines)?..size,
        Part::Lines { from, count } => {
            let start = output.line_start(*from)?;
            // Where that line is missing, the first that is there.
            let first = (1 + output.newlines_before(start)?).max(*from);
            start..output.line_start(first.saturating_add(*count))?.max(start)
        }
        Part::Bytes { from, to } => {
            let from = (*from).min(size);
            from..to.unwrap_or(size).clamp(from, size)
        }
        Part::After(Cursor(from)) => (*from).min(size)..size,
        Part::Since { age, lines } => {
            let moment = clock::wall() - *age;
            let from = output.since(moment)?;
            match lines {
                Some(lines) => from.max(output.tail(*lines)?)..size,
                None => from..size,
            }
        }
    })
}

/// The range less an unfinished UTF-8 character at its end.
fn whole_characters(output: &Output, range: Range<u64>) -> io::Result<Range<u64>> {
    const LONGEST: u64 = 3;
    let from = range.end.saturating_sub(LONGEST).max(range.start);
    let mut last = Vec::new();
    for chunk in output.chunks(from..range.end) {
        last.extend(chunk?);
    }
    let unfinished = (1..=last.len()).find(|count| is_unfinished(&last[last.len() - count..]));
    Ok(range.start..range.end - unfinished.unwrap_or(0) as u64)
}

/// Whether these bytes are the beginning of one character, and not all of it.
fn is_unfinished(bytes: &[u8]) -> bool {
    matches!(str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}

impl Log {
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// How much of the whole output was not kept.
    pub fn dropped_bytes(&self) -> u64 {
        self.output.dropped_bytes()
    }

    /// The ended job of which this is the whole output: reading it is being told of its end. One that
    /// was followed is looked at again.
    pub fn end(&self, outlive: &Outlive, followed: bool) -> Result<Option<Job>, Error> {
        let whole = self.range.start == 0 && (followed || self.range.end == self.output.size);
        let job = match followed {
            true => show::show(outlive, &self.id)?,
            false => self.job.clone(),
        };
        Ok(Some(job).filter(|job| whole && job.has_ended()))
    }

    /// What an answer with all of it and [`Log::end`] tells.
    pub fn receipt(&self, outlive: &Outlive) -> Receipt {
        Receipt::nothing(outlive).telling(&self.id, ToldBy::Log, &[Kind::Ended], Vec::new())
    }

    /// The exact bytes, a stretch at a time, and what is missing of them. They may contain secrets, so this
    /// is refused unless [`Outlive::showing_secrets`] was called.
    pub fn pieces(&self) -> Result<impl Iterator<Item = io::Result<Piece>> + '_, Error> {
        match self.hides_secrets {
            true => Err(Error::SecretsHidden),
            false => Ok(self.exact_pieces()),
        }
    }

    /// The same for a caller that shows them only through this [`Live`], which hides secrets where it must.
    pub fn pieces_for<'a>(
        &'a self,
        _view: &Live,
    ) -> impl Iterator<Item = io::Result<Piece>> + use<'a> {
        self.exact_pieces()
    }

    /// A view that turns the output into text as it comes, without secrets unless they are shown.
    pub fn live(&self, line_limit: usize) -> io::Result<Live> {
        let live = Live::new(line_limit, self.range.start);
        Ok(match self.hides_secrets {
            true => live.redacted(&self.before()?),
            false => live,
        })
    }

    fn exact_pieces(&self) -> impl Iterator<Item = io::Result<Piece>> + '_ {
        let gap = self.gap_before(self.range.start);
        self.output.pieces_after(gap, self.range.clone())
    }

    /// What is missing before it, if lines were asked for: its first line may have lost its beginning, or
    /// stand in place of one that is gone.
    fn gap_before(&self, start: u64) -> Option<Range<u64>> {
        match self.part {
            Part::LastLines(_) | Part::Lines { .. } | Part::Since { .. } => {
                self.output.gap_before(start)
            }
            Part::Bytes { .. } | Part::After(_) => None,
        }
    }

    /// The same as text, with where it lies. Where secrets are hidden, and the output may go on, a last word
    /// that seems to be the beginning of a secret is left for the next look.
    pub fn text(&self, look: Look) -> io::Result<LogPage> {
        let range = self.range.clone();
        let gap = self.gap_before(range.start);
        let goes_on = !self.job.has_ended() && range.end == self.output.size;
        let mut log = self.output.text_after(gap, &self.id, range, look)?;
        if !self.hides_secrets {
            return Ok(log);
        }
        let mut redactor = Redactor::after(&self.before()?);
        log.text = match goes_on {
            true => redactor.part(&log.text),
            false => redactor.redact(&log.text).into_owned(),
        };
        Ok(log)
    }

    /// The lines of it.
    pub fn lines(
        &self,
        reading: Reading,
    ) -> io::Result<impl Iterator<Item = io::Result<Line>> + '_> {
        let lines = self.output.lines(self.range.clone())?;
        Ok(match self.hides_secrets {
            true => read_redacted(&self.before()?, lines),
            false => read_as(reading, lines),
        })
    }

    /// What came before it, as text: as much as may tell what is secret in it.
    fn before(&self) -> io::Result<String> {
        const FAR: u64 = 64 * 1024;
        let end = self.range.start;
        let whole = view::Options {
            budget: usize::MAX,
            ..view::Options::default()
        };
        let range = end.saturating_sub(FAR)..end;
        Ok(self.output.text(&self.id, range, Look::Plain(whole))?.text)
    }

    /// The range from where its first line begins. Nothing stays nothing.
    fn whole_lines(&self) -> io::Result<Range<u64>> {
        let Range { start, end } = self.range;
        if self.range.is_empty() {
            return Ok(start..end);
        }
        let line = 1 + self.output.newlines_before(start)?;
        Ok(self.output.line_start(line)?.min(start)..end)
    }

    /// The lines that match, as they are read, each time as many as were found at once: no colour hides a
    /// match, and none is found in what is not shown.
    pub fn search<'a>(
        &'a self,
        pattern: &'a LinePattern,
        reading: Reading,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<Vec<Line>>> + 'a>> {
        if self.hides_secrets {
            // What is secret in a line may be told by the lines before it, so it goes line by line.
            let is_hit = |line: &io::Result<Line>| {
                line.as_ref()
                    .map_or(true, |line| pattern.is_match(&line.bytes))
            };
            let hits = self.lines(reading)?.filter(is_hit);
            return Ok(Box::new(hits.map(|line| Ok(vec![line?]))));
        }
        let searched = match reading {
            Reading::Raw => Searched::Bytes,
            Reading::Plain => Searched::Text,
        };
        let found = self.output.search(self.range.clone(), pattern, searched)?;
        Ok(Box::new(found))
    }

    /// The last `most` of them.
    pub fn matching(
        &self,
        pattern: &LinePattern,
        most: usize,
        reading: Reading,
    ) -> io::Result<Vec<Line>> {
        let mut last = VecDeque::new();
        for found in self.search(pattern, reading)? {
            last.extend(found?);
            last.drain(..last.len().saturating_sub(most));
        }
        Ok(last.into())
    }

    /// When a line was written.
    pub fn time_of(&self, line: &Line) -> Option<Timestamp> {
        self.output.time_of(line.offset).map(Timestamp::from)
    }

    /// What comes after it, as it comes. Where it began with the first byte, the end is told with it.
    pub fn follow<'a>(&mut self, outlive: &'a Outlive) -> Result<Follow<'a>, Error> {
        match self.hides_secrets {
            true => Err(Error::SecretsHidden),
            false => self.follow_exactly(outlive),
        }
    }

    /// The same for a caller that shows it only through this [`Live`].
    pub fn follow_for<'a>(
        &mut self,
        outlive: &'a Outlive,
        _view: &Live,
    ) -> Result<Follow<'a>, Error> {
        self.follow_exactly(outlive)
    }

    fn follow_exactly<'a>(&mut self, outlive: &'a Outlive) -> Result<Follow<'a>, Error> {
        if self.range.start == 0 {
            self.reserved = Reservation::of(outlive, &self.id, &[Kind::Ended]);
        }
        Follow::exactly(outlive, &self.id, self.range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_told_from_a_whole_one() {
        for (bytes, unfinished) in [
            ("é".as_bytes(), false),
            (&"é".as_bytes()[..1], true),
            (&"日".as_bytes()[..2], true),
            (b"a", false),
            (b"\xff", false),
            (b"\x80", false),
            (b"a\xc3", false),
        ] {
            assert_eq!(is_unfinished(bytes), unfinished, "{bytes:?}");
        }
    }
}
