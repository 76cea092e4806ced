//! Reads one stream of an output whose streams are told apart, or both with their names.
//!
//! Lines and bytes are counted as in the whole output: the number of a line is that of the line of the whole output in
//! which it begins. So a number, an offset or a cursor means the same whatever is read, and leads from a line of one
//! stream to what the other one said at that time. What is missing may be of either stream, so it is missing in both.
//!
//! The runs of a stream are found without reading the output. Only line numbers need the bytes between two marks of the
//! index, as they do in the whole output.

use super::blocks::SIZES;
use super::lines::nth_newline;
use super::{CHUNK, Line, LinePattern, Output, Piece, Searched};
use crate::error::Error;
use crate::view;
use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};
use outlive_core::streams::{Run, Runs};
use outlive_core::{Spec, Stream};
use std::io;
use std::ops::Range;

/// Which streams are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Both, as one.
    Whole,
    /// Both, and each piece says of which it is, if that is known.
    Apart,
    Only(Stream),
}

/// The streams of an output.
#[derive(Debug)]
pub(super) struct Apart {
    /// `None` if the job has written nothing.
    runs: Option<Runs>,
    only: Option<Stream>,
}

impl Apart {
    fn at(&self, offset: u64) -> io::Result<Run> {
        match &self.runs {
            Some(runs) => runs.at(offset),
            None => Ok(Run {
                stream: None,
                range: 0..u64::MAX,
            }),
        }
    }
}

impl Output {
    /// The output with its streams seen in this way. It was opened before its runs are, so they reach to its end.
    pub(crate) fn seen(mut self, spec: &Spec, seen: Seen) -> Result<Output, Error> {
        let only = match seen {
            Seen::Whole => return Ok(self),
            Seen::Apart if spec.streams.is_merged() => return Ok(self),
            Seen::Apart => None,
            Seen::Only(_) if spec.streams.is_merged() => {
                return Err(Error::NotSplit(spec.id.clone()));
            }
            Seen::Only(stream) => Some(stream),
        };
        let failed = || Error::io("cannot read", self.dir.streams());
        let apart = Apart {
            runs: self.runs().map_err(failed())?,
            only,
        };
        // Bytes of an unknown stream are shown with the others, but never as bytes of a stream.
        let first = self.missing.iter().find(|range| range.start == 0);
        let first = first.map_or(0, |range| range.end);
        let is_unknown = first < self.size && apart.at(first).map_err(failed())?.stream.is_none();
        if only.is_some() && is_unknown {
            return Err(Error::StreamsUnknown(spec.id.clone()));
        }
        self.apart = Some(apart);
        Ok(self)
    }

    /// The stream that is read, if it is only one.
    pub(crate) fn only(&self) -> Option<Stream> {
        self.apart.as_ref()?.only
    }

    /// The stream of this byte, if the streams are told apart.
    pub(crate) fn stream_at(&self, offset: u64) -> Option<Stream> {
        self.apart.as_ref()?.at(offset).ok()?.stream
    }

    /// The next part of a range that is of one stream, or missing. `None` if there is none of the `only` stream.
    pub(super) fn next_run(
        &self,
        range: Range<u64>,
        only: Option<Stream>,
    ) -> io::Result<Option<(Range<u64>, Option<Stream>)>> {
        let Some(apart) = &self.apart else {
            return Ok(Some((range, None)));
        };
        let mut at = range.start;
        while at < range.end {
            let missing = self.missing.iter().find(|missing| missing.end > at);
            if missing.is_some_and(|missing| missing.start <= at) {
                return Ok(Some((at..range.end, None)));
            }
            let run = apart.at(at)?;
            let until = run.range.end.min(range.end);
            if only.is_none() || run.stream == only {
                return Ok(Some((at..until, run.stream)));
            }
            at = missing.map_or(until, |missing| until.min(missing.start));
        }
        Ok(None)
    }

    /// The pieces of one stream before this offset, the last one first.
    fn pieces_back(
        &self,
        stream: Stream,
        mut end: u64,
    ) -> impl Iterator<Item = io::Result<Piece>> + '_ {
        std::iter::from_fn(move || {
            let piece = self.piece_before(stream, end).transpose()?;
            end = match &piece {
                Ok(Piece::Bytes { at, .. }) => *at,
                Ok(Piece::Missing(range)) => range.start,
                Err(_) => 0,
            };
            Some(piece)
        })
    }

    fn piece_before(&self, stream: Stream, mut end: u64) -> io::Result<Option<Piece>> {
        let Some(apart) = &self.apart else {
            return Ok(None);
        };
        while let Some(last) = end.checked_sub(1) {
            let missing = self.missing.iter().rfind(|missing| missing.start <= last);
            if let Some(missing) = missing.filter(|missing| missing.end > last) {
                return Ok(Some(Piece::Missing(missing.start..end)));
            }
            let run = apart.at(last)?;
            let begin = run
                .range
                .start
                .max(missing.map_or(0, |missing| missing.end));
            if run.stream == Some(stream) {
                let at = begin.max(end.saturating_sub(CHUNK));
                return Ok(Some(Piece::Bytes {
                    at,
                    bytes: self.read(at, end - at)?,
                    stream: run.stream,
                }));
            }
            end = begin;
        }
        Ok(None)
    }

    /// The offset of the last `lines` lines of a stream. A line also begins after a missing range.
    pub(super) fn tail_of(&self, stream: Stream, lines: u64) -> io::Result<u64> {
        let mut left = lines;
        if left == 0 {
            return Ok(self.size);
        }
        // Whether nothing that comes later is in the same line.
        let mut is_last = true;
        for piece in self.pieces_back(stream, self.size) {
            match piece? {
                Piece::Missing(range) => {
                    left -= u64::from(!is_last);
                    if left == 0 {
                        return Ok(range.end);
                    }
                    is_last = true;
                }
                Piece::Bytes { at, bytes, .. } => {
                    for index in memrchr_iter(b'\n', &bytes) {
                        // No line begins after the newline that ends the last line.
                        if is_last && index + 1 == bytes.len() {
                            continue;
                        }
                        left -= 1;
                        if left == 0 {
                            return Ok(at + index as u64 + 1);
                        }
                    }
                    is_last &= bytes.is_empty();
                }
            }
        }
        Ok(0)
    }

    /// Where the line of a stream begins that this offset is in.
    pub(crate) fn line_begin_of(&self, stream: Stream, offset: u64) -> io::Result<u64> {
        for piece in self.pieces_back(stream, offset) {
            match piece? {
                Piece::Missing(range) => return Ok(range.end),
                Piece::Bytes { at, bytes, .. } => {
                    if let Some(index) = memrchr(b'\n', &bytes) {
                        return Ok(at + index as u64 + 1);
                    }
                }
            }
        }
        Ok(0)
    }

    /// The first line of a stream that begins at this offset or later; the end if there is none.
    pub(super) fn next_line_of(&self, stream: Stream, offset: u64) -> io::Result<u64> {
        let begins = match self.pieces_back(stream, offset).next().transpose()? {
            Some(Piece::Bytes { bytes, .. }) => bytes.ends_with(b"\n"),
            Some(Piece::Missing(_)) | None => true,
        };
        match begins {
            true => Ok(offset),
            false => self.after_lines(offset, 1),
        }
    }

    /// The end of so many lines of the stream that is read, from this offset on.
    pub(crate) fn after_lines(&self, from: u64, count: u64) -> io::Result<u64> {
        let mut left = count;
        for piece in self.pieces(from..self.size) {
            if left == 0 {
                break;
            }
            if let Piece::Bytes { at, bytes, .. } = piece? {
                match nth_newline(&bytes, left) {
                    Ok(index) => return Ok(at + index + 1),
                    Err(found) => left -= found,
                }
            }
        }
        Ok(if count == 0 { from } else { self.size })
    }

    /// The lines of one stream in a range, in order, without lines that may lack a part because of a missing range.
    pub(super) fn lines_of(
        &self,
        stream: Stream,
        range: Range<u64>,
    ) -> io::Result<impl Iterator<Item = io::Result<Line>> + '_> {
        let mut assembly = Assembly {
            stream,
            number: 1 + self.newlines_before(range.start)?,
            line: None,
            is_cut: self.gap_before(range.start).is_some(),
            complete: Vec::new(),
        };
        // The other stream is read too, because its lines are counted.
        let mut pieces = self.pieces_of(range, None);
        let mut ready = Vec::new().into_iter();
        Ok(std::iter::from_fn(move || {
            loop {
                if let Some(line) = ready.next() {
                    return Some(Ok(line));
                }
                let taken = match pieces.next() {
                    None => return assembly.line.take().map(Ok),
                    Some(piece) => piece.and_then(|piece| self.assemble(&mut assembly, piece)),
                };
                match taken {
                    Ok(()) => ready = std::mem::take(&mut assembly.complete).into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            }
        }))
    }

    fn assemble(&self, assembly: &mut Assembly, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Bytes { at, bytes, stream } if stream == Some(assembly.stream) => {
                assembly.take(at, &bytes);
            }
            Piece::Bytes { bytes, .. } => {
                assembly.number += memchr_iter(b'\n', &bytes).count() as u64;
            }
            Piece::Missing(range) => {
                assembly.line = None;
                assembly.is_cut = true;
                assembly.number = 1 + self.newlines_before(range.end)?;
            }
        }
        Ok(())
    }

    /// The matching lines of the stream that is read. Each line is looked at alone.
    pub(super) fn search_stream<'a>(
        &'a self,
        range: Range<u64>,
        pattern: &'a LinePattern,
        searched: Searched,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<Vec<Line>>> + 'a>> {
        let as_searched = move |line: Line| match searched {
            Searched::Bytes => line,
            Searched::Text => Line {
                bytes: view::line(&line.bytes).into_owned().into_bytes(),
                ..line
            },
        };
        let found = self.lines(range)?.filter_map(move |line| {
            let line = line.map(as_searched);
            let is_hit = line
                .as_ref()
                .map_or(true, |line| pattern.is_match(&line.bytes));
            is_hit.then(|| line.map(|line| vec![line]))
        });
        Ok(Box::new(found))
    }
}

/// The lines of one stream, put together from its pieces.
struct Assembly {
    stream: Stream,
    /// The number of the present line of the whole output.
    number: u64,
    /// The line that is not complete yet.
    line: Option<Line>,
    /// Whether the next byte may be inside a line whose beginning is missing.
    is_cut: bool,
    complete: Vec<Line>,
}

impl Assembly {
    fn take(&mut self, at: u64, bytes: &[u8]) {
        let mut offset = at;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = memchr(b'\n', part).is_some();
            if !self.is_cut {
                let line = self.line.get_or_insert_with(|| Line {
                    number: self.number,
                    offset,
                    bytes: Vec::new(),
                });
                line.bytes.extend(part);
                if ends || line.bytes.len() >= SIZES.line {
                    self.complete.extend(self.line.take());
                }
            }
            if ends {
                self.number += 1;
                self.is_cut = false;
            }
            offset += part.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests;
