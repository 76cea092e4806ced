//! Reads the output of a job.

mod exact;
mod searching;
mod window;

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Receipt;
use crate::inbox::answering::Reservation;
use crate::jobs::attempts;
use crate::output::{
    Follow, Line, LinePattern, Look, Output, Piece, Reading, Searched, Seen, read_as, read_redacted,
};
use crate::redact::Redactor;
use crate::screen::Emulation;
use crate::verbs::show;
use crate::view::{self, Live};
use outlive_api::attempt::AttemptOutput;
use outlive_api::event::EventKind;
use outlive_api::job::Job;
use outlive_api::log::{Cursor, LogPage, Screen};
pub use outlive_api::request::Part;
use outlive_core::adopted;
use outlive_core::told::ToldBy;
use outlive_core::{JobId, Spec, Stream, Timestamp};
pub use searching::Search;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
pub use window::WindowLine;

/// A part of an output, ready to be read.
#[derive(Debug)]
pub struct Log {
    id: JobId,
    output: Output,
    part: Part,
    range: Range<u64>,
    /// The state of the job when the log was opened.
    job: Job,
    spec: Spec,
    seen: Seen,
    hides_secrets: bool,
    /// Nobody else tells the calling session about the end until this is dropped.
    reserved: Option<Reservation>,
}

/// Shows what a person would see on the job's terminal now.
pub fn screen(outlive: &Outlive, id: &JobId) -> Result<Screen, Error> {
    let (_, spec, state) = show::read(outlive, id)?;
    let emulation = Emulation::of(outlive, &spec, &state)?;
    Ok(match outlive.shows_secrets() {
        true => emulation.screen(id),
        false => emulation.redacted_screen(id),
    })
}

/// Finds the requested part.
pub fn log(outlive: &Outlive, id: &JobId, part: &Part) -> Result<Log, Error> {
    log_of(outlive, id, part, None)
}

/// Finds the requested part of one stream. Lines and bytes are counted as in the whole output.
pub fn log_of(
    outlive: &Outlive,
    id: &JobId,
    part: &Part,
    stream: Option<Stream>,
) -> Result<Log, Error> {
    let (job, spec, state) = show::read(outlive, id)?;
    let seen = stream.map_or(Seen::Whole, Seen::Only);
    let output = Output::open(outlive, &spec, &state)?.seen(&spec, seen)?;
    let attempt = match part {
        Part::Attempt { number, .. } => Some(attempts::output(outlive, id, *number)?),
        _ => None,
    };
    let range = find(&output, part, attempt).and_then(|range| match part {
        // An incomplete character at the end is left for the next look.
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
        seen,
        spec,
        hides_secrets: !outlive.shows_secrets(),
        reserved: None,
    };
    if log.hides_secrets {
        // The beginning of a line may show what is secret in it.
        let path = outlive.job_dir(id).output();
        log.range = log.whole_lines().map_err(Error::io("cannot read", path))?;
    }
    Ok(log)
}

/// The last bytes of an output as text: whole lines, unless the last line alone has more.
pub fn tail(outlive: &Outlive, id: &JobId, bytes: u64) -> Result<String, Error> {
    let (_, spec, state) = show::read(outlive, id)?;
    let size = Output::open(outlive, &spec, &state)?.size;
    let from = size.saturating_sub(bytes);
    // A line that begins just there is whole.
    let part = Part::Bytes {
        from: from.saturating_sub(1),
        to: None,
    };
    let look = Look::Plain(view::Options {
        budget: usize::MAX,
        ..view::Options::default()
    });
    let text = log(outlive, id, &part)?.text(look);
    let text = text
        .map_err(Error::io("cannot read", outlive.job_dir(id).output()))?
        .text;
    let whole = match (from, text.split_once('\n')) {
        (0, _) | (_, None) => text.as_str(),
        (_, Some((_, ""))) => text.as_str(),
        (_, Some((_, whole))) => whole,
    };
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    let cut = whole.len().saturating_sub(most);
    Ok(whole[whole.ceil_char_boundary(cut)..].to_owned())
}

/// Where a part is. `attempt` is the output of the attempt that it names, if it names one.
fn find(output: &Output, part: &Part, attempt: Option<AttemptOutput>) -> io::Result<Range<u64>> {
    let size = output.size;
    Ok(match part {
        Part::LastLines(lines) => output.tail(*lines)?..size,
        Part::Lines { from, count } => {
            let start = output.line_start(*from)?;
            // If that line is missing, start at the first one that exists.
            let first = (1 + output.newlines_before(start)?).max(*from);
            let end = match output.only() {
                Some(_) => output.after_lines(start, *count)?,
                None => output.line_start(first.saturating_add(*count))?,
            };
            start..end.max(start)
        }
        Part::Bytes { from, to } => {
            let from = (*from).min(size);
            from..to.unwrap_or(size).clamp(from, size)
        }
        Part::Attempt { lines, .. } => {
            let (from, to) = attempt.map_or((0, None), |found| (found.from, found.to));
            let range = from.min(size)..to.unwrap_or(size).clamp(from.min(size), size);
            match lines {
                Some(lines) => last_lines(output, range, *lines)?,
                None => range,
            }
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

/// The last lines of a range.
fn last_lines(output: &Output, range: Range<u64>, lines: u64) -> io::Result<Range<u64>> {
    if range.is_empty() || lines == 0 {
        return Ok(range.end..range.end);
    }
    // The last line may end with the range or go on behind it.
    let last = 1 + output.newlines_before(range.end - 1)?;
    let first = last.saturating_sub(lines - 1).max(1);
    let start = output.line_start(first)?;
    Ok(start.clamp(range.start, range.end)..range.end)
}

/// The range without an incomplete UTF-8 character at its end.
fn whole_characters(output: &Output, range: Range<u64>) -> io::Result<Range<u64>> {
    const LONGEST: u64 = 3;
    let from = range.end.saturating_sub(LONGEST).max(range.start);
    let (mut last, mut offsets) = (Vec::new(), Vec::new());
    for piece in output.pieces(from..range.end) {
        if let Piece::Bytes { at, bytes, .. } = piece? {
            offsets.extend(at..at + bytes.len() as u64);
            last.extend(bytes);
        }
    }
    let unfinished = (0..last.len()).rfind(|index| is_unfinished(&last[*index..]));
    Ok(range.start..unfinished.map_or(range.end, |index| offsets[index]))
}

/// Whether these bytes are the beginning of a character that is not complete.
fn is_unfinished(bytes: &[u8]) -> bool {
    matches!(str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}

impl Log {
    /// Tells the stream of each piece and line, if the job tells its streams apart.
    pub fn telling_streams(mut self) -> Result<Log, Error> {
        if self.seen == Seen::Whole {
            self.seen = Seen::Apart;
            self.output = self.output.seen(&self.spec, self.seen)?;
        }
        Ok(self)
    }

    /// The stream of this byte, if the streams are told apart.
    pub fn stream_at(&self, offset: u64) -> Option<Stream> {
        self.output.stream_at(offset)
    }

    /// Where it lies in the output, in bytes.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// How many bytes of the whole output are missing.
    pub fn dropped_bytes(&self) -> u64 {
        self.output.dropped_bytes()
    }

    /// Why there is nothing to read, if the job's output is not captured.
    pub fn not_captured(&self) -> Option<String> {
        self.job.adopted.as_ref().map(adopted::output_sentence)
    }

    /// The ended job, if this is its whole output: reading that counts as being told about its end. If
    /// the output was followed, the job's state is read again.
    pub fn end(&self, outlive: &Outlive, followed: bool) -> Result<Option<Job>, Error> {
        let is_one = matches!(self.seen, Seen::Only(_));
        let reaches_end = followed || self.range.end == self.output.size;
        let whole = self.range.start == 0 && reaches_end && !is_one;
        let job = match followed {
            true => show::show(outlive, &self.id)?,
            false => self.job.clone(),
        };
        Ok(Some(job).filter(|job| whole && job.has_ended()))
    }

    /// What an answer that contains the whole output and [`Log::end`] tells.
    pub fn receipt(&self, outlive: &Outlive) -> Receipt {
        Receipt::nothing(outlive).telling(&self.id, ToldBy::Log, &[EventKind::Ended], Vec::new())
    }

    /// The exact bytes in pieces, and the missing ranges. They may contain secrets, so this is refused
    /// unless [`Outlive::showing_secrets`] was called.
    pub fn pieces(&self) -> Result<impl Iterator<Item = io::Result<Piece>> + '_, Error> {
        match self.hides_secrets {
            true => Err(Error::SecretsHidden),
            false => Ok(self.exact_pieces()),
        }
    }

    /// Like [`Log::pieces`], for a caller that only shows them through this [`Live`], which redacts
    /// secrets.
    pub fn pieces_for<'a>(
        &'a self,
        _view: &Live,
    ) -> impl Iterator<Item = io::Result<Piece>> + use<'a> {
        self.exact_pieces()
    }

    /// A view that turns the output into text as it comes. It redacts secrets unless they are shown.
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

    /// The missing range right before the part, if lines were requested: the first line may be
    /// incomplete or missing.
    fn gap_before(&self, start: u64) -> Option<Range<u64>> {
        match self.part {
            Part::LastLines(_) | Part::Lines { .. } | Part::Since { .. } => {
                self.output.gap_before(start)
            }
            Part::Bytes { .. } | Part::After(_) | Part::Attempt { .. } => None,
        }
    }

    /// The part as text, with its offsets. If secrets are redacted and the output may continue, a last
    /// word that may be the beginning of a secret is left for the next look.
    pub fn text(&self, look: Look) -> io::Result<LogPage> {
        let range = self.range.clone();
        let gap = self.gap_before(range.start);
        let goes_on = !self.job.has_ended() && range.end == self.output.size;
        let mut log = self.output.text_after(gap, &self.id, range, look)?;
        log.state = Some(self.job.state);
        log.exit_code = self.job.exit_code;
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

    /// The lines of the part.
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

    /// The text before the part, as much as is needed to recognise secrets in it.
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

    /// Extends the range to the start of its first line. An empty range stays empty.
    fn whole_lines(&self) -> io::Result<Range<u64>> {
        let Range { start, end } = self.range;
        if self.range.is_empty() {
            return Ok(start..end);
        }
        if let Some(stream) = self.output.only() {
            return Ok(self.output.line_begin_of(stream, start)?..end);
        }
        let line = 1 + self.output.newlines_before(start)?;
        Ok(self.output.line_start(line)?.min(start)..end)
    }

    /// The matching lines, in groups as they are found. Colours hide no match, and hidden text never
    /// matches.
    pub fn search<'a>(
        &'a self,
        pattern: &'a LinePattern,
        reading: Reading,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<Vec<Line>>> + 'a>> {
        if self.hides_secrets {
            // Earlier lines may show what is secret in a line, so this reads line by line.
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
        Ok(found)
    }

    /// The last `most` matching lines.
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

    /// Follows the output after the part. If the part began with the first byte, the end is told too.
    pub fn follow<'a>(&mut self, outlive: &'a Outlive) -> Result<Follow<'a>, Error> {
        match self.hides_secrets {
            true => Err(Error::SecretsHidden),
            false => self.follow_exactly(outlive),
        }
    }

    /// Like [`Log::follow`], for a caller that only shows the output through this [`Live`].
    pub fn follow_for<'a>(
        &mut self,
        outlive: &'a Outlive,
        _view: &Live,
    ) -> Result<Follow<'a>, Error> {
        self.follow_exactly(outlive)
    }

    fn follow_exactly<'a>(&mut self, outlive: &'a Outlive) -> Result<Follow<'a>, Error> {
        if self.range.start == 0 {
            self.reserved = Reservation::of(outlive, &self.id, &[EventKind::Ended]);
        }
        Ok(Follow::exactly(outlive, &self.id, self.range.end)?.seeing(self.seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_character_is_recognised() {
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
