//! Reads a job's output. The cost depends on what is returned plus a bounded scan, not on the output's
//! size.
//!
//! Parts of an output can be missing: the middle, when the output grew beyond its limit, and what a
//! full disk could not store. Offsets stay correct. Where a part is missing, the text says so.

mod blocks;
mod excerpt;
mod far;
mod follow;
mod following;
mod lines;
mod reader;
mod search;
mod streams;
#[cfg(test)]
mod tests;

pub use follow::{Follow, Grown, Growth};
pub use following::{Chunk, Following};
pub use reader::{Line, Reading};
pub(crate) use reader::{read_as, read_redacted};
pub use search::LinePattern;
pub(crate) use search::Searched;
pub(crate) use streams::Seen;

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::view::{self, View, Viewed};
use excerpt::Excerpt;
use far::FarOutput;
use outlive_api::log::{Cursor, LogPage, LogPosition, Omitted};
use outlive_core::bound::Bound;
use outlive_core::far::FarFile;
use outlive_core::index::Index;
use outlive_core::layout;
use outlive_core::place::LOCAL;
use outlive_core::streams::Runs;
use outlive_core::units::show_size;
use outlive_core::{JobDir, JobId, OutputFiles, Spec, State, Stream};
use outlive_sys::file;
use std::cell::OnceCell;
use std::io::{self, Write};
use std::ops::Range;
use streams::Apart;

const CHUNK: u64 = 64 * 1024;

/// The output of one job, up to its size when this value was opened.
#[derive(Debug)]
pub struct Output {
    dir: JobDir,
    /// `None` if no output file exists yet.
    files: Option<Files>,
    bound: Option<Bound>,
    pub size: u64,
    /// The missing ranges, in order.
    missing: Vec<Range<u64>>,
    /// Read when it is first needed.
    index: OnceCell<Index>,
    /// If its streams are told apart here.
    apart: Option<Apart>,
}

/// Where an output is.
#[derive(Debug)]
enum Files {
    Here(OutputFiles),
    Far(Box<FarOutput>),
    /// Only its beginning and its end are here.
    Excerpt(Excerpt),
}

/// A piece of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes that are there.
    Bytes {
        /// The offset of the first of them.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// Their stream, if the streams are told apart.
        stream: Option<Stream>,
    },
    /// This range could not be stored.
    Missing(Range<u64>),
}

/// What is at one offset of an output.
enum Stretch {
    /// This many bytes; 0 if another process truncated the file meanwhile.
    Read(usize),
    Missing(Range<u64>),
}

impl Output {
    pub fn open(outlive: &Outlive, spec: &Spec, state: &State) -> Result<Output, Error> {
        Output::open_sized(outlive, spec, state, None)
    }

    /// Like [`open`](Output::open). If the caller knows how much there is, a place need not be asked.
    pub(crate) fn open_sized(
        outlive: &Outlive,
        spec: &Spec,
        state: &State,
        size: Option<u64>,
    ) -> Result<Output, Error> {
        let dir = outlive.job_dir(&spec.id);
        let path = dir.output();
        let bound = spec.bound();
        let files = match spec.place == LOCAL {
            true => OutputFiles::open(&dir, bound)
                .map_err(Error::io("cannot open", &path))?
                .map(Files::Here),
            false => {
                let far = FarOutput::open(outlive, spec, state, size)?;
                Some(Files::Far(Box::new(far)))
            }
        };
        let size = match &files {
            Some(Files::Here(files)) => files.size().map_err(Error::io("cannot read", &path))?,
            Some(Files::Far(far)) => far.size,
            Some(Files::Excerpt(_)) | None => 0,
        };
        Ok(Output::made(dir, files, size, spec, state))
    }

    /// What is here of an output, or comes at once: all of it, or its beginning and its end. For a text that never
    /// waits for a network.
    pub(crate) fn glimpse(outlive: &Outlive, spec: &Spec, state: &State) -> Option<Output> {
        if spec.place == LOCAL {
            return Output::open(outlive, spec, state).ok();
        }
        let excerpt = Excerpt::of(outlive, spec, state)?;
        let (dir, size) = (outlive.job_dir(&spec.id), excerpt.size);
        let files = Some(Files::Excerpt(excerpt));
        Some(Output::made(dir, files, size, spec, state))
    }

    fn made(dir: JobDir, files: Option<Files>, size: u64, spec: &Spec, state: &State) -> Output {
        Output {
            dir,
            files,
            bound: spec.bound(),
            size,
            missing: join(state.gaps.iter().cloned().chain([spec.dropped(size)])),
            index: OnceCell::new(),
            apart: None,
        }
    }

    /// The missing ranges, in order.
    pub(crate) fn missing(&self) -> &[Range<u64>] {
        &self.missing
    }

    /// How many bytes are missing.
    pub fn dropped_bytes(&self) -> u64 {
        self.missing
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let bytes = match &self.files {
                Some(Files::Far(far)) => far.file(FarFile::Index).unwrap_or_default(),
                _ => layout::read(&self.dir.index()).unwrap_or_default(),
            };
            Index::parse(&bytes)
        })
    }

    /// Which bytes are of which stream; `None` if the job has written nothing.
    fn runs(&self) -> io::Result<Option<Runs>> {
        let Some(Files::Far(far)) = &self.files else {
            return Runs::open(&self.dir);
        };
        let bytes = far.file(FarFile::Streams).map_err(io::Error::other)?;
        let mut copy = file::in_memory("streams")?;
        copy.write_all(&bytes)?;
        Runs::of(copy).map(Some)
    }

    /// The pieces of a range, in order. If only one stream is read, bytes of the other one are passed over.
    pub fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = io::Result<Piece>> + '_ {
        self.pieces_of(range, self.only())
    }

    /// The pieces of a range, also of a stream that is not read.
    fn pieces_of(
        &self,
        range: Range<u64>,
        only: Option<Stream>,
    ) -> impl Iterator<Item = io::Result<Piece>> + '_ {
        let end = range.end.min(self.size);
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let piece = self.piece(at, end, only).transpose()?;
            at = match &piece {
                Ok(Piece::Bytes { at, bytes, .. }) if !bytes.is_empty() => at + bytes.len() as u64,
                Ok(Piece::Missing(range)) => range.end,
                // Another process truncated the file, or it cannot be read: nothing more to return.
                Ok(Piece::Bytes { .. }) | Err(_) => end,
            };
            Some(piece)
        })
    }

    /// Like [`pieces`](Output::pieces), but begins with the gap that ends at the start of the range.
    pub(crate) fn pieces_after(
        &self,
        gap: Option<Range<u64>>,
        range: Range<u64>,
    ) -> impl Iterator<Item = io::Result<Piece>> + '_ {
        let gap = gap.map(|gap| Ok(Piece::Missing(gap)));
        gap.into_iter().chain(self.pieces(range))
    }

    fn piece(&self, at: u64, end: u64, only: Option<Stream>) -> io::Result<Option<Piece>> {
        let Some((range, stream)) = self.next_run(at..end, only)? else {
            return Ok(None);
        };
        let at = range.start;
        let mut bytes = vec![0; (range.end - at).min(CHUNK) as usize];
        Ok(Some(match self.stretch(at, range.end, &mut bytes)? {
            Stretch::Read(count) => {
                bytes.truncate(count);
                Piece::Bytes { at, bytes, stream }
            }
            Stretch::Missing(range) => Piece::Missing(range),
        }))
    }

    /// Reads bytes into the buffer, up to the next missing range.
    fn stretch(&self, at: u64, end: u64, buffer: &mut [u8]) -> io::Result<Stretch> {
        let next = self.missing.iter().find(|range| range.end > at);
        match next {
            Some(range) if range.start <= at => Ok(Stretch::Missing(at..range.end.min(end))),
            next => {
                let until = next.map_or(end, |range| range.start.min(end));
                let most = (until - at).min(buffer.len() as u64) as usize;
                let count = self.read_into(&mut buffer[..most], at)?;
                let dropped = self.dropped_by_now(&buffer[..count])?;
                if dropped.contains(&at) {
                    return Ok(Stretch::Missing(at..dropped.end.min(until)));
                }
                Ok(Stretch::Read(match at < dropped.start {
                    true => count.min((dropped.start - at) as usize),
                    false => count,
                }))
            }
        }
    }

    /// The output may have grown since it was opened. What was dropped since then reads as zeros.
    fn dropped_by_now(&self, read: &[u8]) -> io::Result<Range<u64>> {
        match (&self.files, self.bound) {
            (Some(Files::Here(files)), Some(bound)) => Ok(bound.dropped(files.size()?)),
            (Some(Files::Far(far)), Some(bound)) if far.may_be_dropped(read) => {
                Ok(bound.dropped(far.size_now()?))
            }
            _ => Ok(0..0),
        }
    }

    /// The bytes of a range that exist, one chunk at a time.
    pub fn chunks(&self, range: Range<u64>) -> impl Iterator<Item = io::Result<Vec<u8>>> + '_ {
        self.pieces(range).filter_map(|piece| match piece {
            Ok(Piece::Bytes { bytes, .. }) => Some(Ok(bytes)),
            Ok(Piece::Missing(_)) => None,
            Err(error) => Some(Err(error)),
        })
    }

    fn read(&self, at: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; most as usize];
        let count = self.read_into(&mut buffer, at)?;
        buffer.truncate(count);
        Ok(buffer)
    }

    fn read_into(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        match &self.files {
            Some(Files::Here(files)) => files.read_at(buffer, at),
            Some(Files::Far(far)) => far.read_at(buffer, at),
            Some(Files::Excerpt(excerpt)) => excerpt.read_at(buffer, at),
            None => Ok(0),
        }
    }

    /// A range as text, with where it lies.
    pub fn text(&self, id: &JobId, range: Range<u64>, look: Look) -> io::Result<LogPage> {
        self.text_after(None, id, range, look)
    }

    /// Like [`text`](Output::text), but begins with the gap that ends at the start of the range.
    pub(crate) fn text_after(
        &self,
        gap: Option<Range<u64>>,
        id: &JobId,
        range: Range<u64>,
        look: Look,
    ) -> io::Result<LogPage> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        // The line that reports the gap is not a line of the output.
        let said_lines = gap
            .as_ref()
            .map_or(0, |gap| missing_line(gap).lines().count());
        let viewed = self.render(gap, range.clone(), look)?;
        let from_line = 1 + self.newlines_before(range.start)?;
        let to_line = match range.is_empty() {
            true => from_line - 1,
            false => 1 + self.newlines_before(range.end - 1)?,
        };
        let total_lines = match self.size {
            0 => 0,
            size => 1 + self.newlines_before(size - 1)?,
        };
        Ok(LogPage {
            id: id.clone(),
            text: viewed.text,
            stream: self.only(),
            position: LogPosition {
                from_line,
                to_line,
                total_lines,
                from_byte: range.start,
                to_byte: range.end,
                total_bytes: self.size,
                dropped_bytes: self.dropped_bytes(),
                dropped_ranges: self
                    .missing
                    .iter()
                    .map(|range| [range.start, range.end])
                    .collect(),
                next_cursor: Cursor(range.end),
            },
            state: None,
            exit_code: None,
            omitted: Omitted {
                lines: viewed.omitted_lines,
                from_line: viewed
                    .omitted_from_line
                    .map(|line| from_line + (line - 1).saturating_sub(said_lines as u64)),
            },
        })
    }
}

/// How output becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Unchanged, except that invalid UTF-8 is replaced.
    Raw,
    /// As a reader wants it: see [`view`].
    Plain(view::Options),
}

impl Output {
    /// The text of a range alone.
    pub(crate) fn rendered(&self, range: Range<u64>, look: Look) -> io::Result<String> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        Ok(self.render(None, range, look)?.text)
    }

    fn render(&self, gap: Option<Range<u64>>, range: Range<u64>, look: Look) -> io::Result<Viewed> {
        let mut raw = Vec::new();
        let mut plain = match look {
            Look::Raw => None,
            Look::Plain(options) => Some(View::new(options)),
        };
        for piece in self.pieces_after(gap, range) {
            let bytes = match piece? {
                Piece::Bytes { bytes, .. } => bytes,
                Piece::Missing(range) => missing_line(&range).into_bytes(),
            };
            match &mut plain {
                Some(view) => view.push(&bytes),
                None => raw.extend(bytes),
            }
        }
        Ok(match plain {
            Some(view) => view.finish(),
            None => Viewed {
                text: String::from_utf8_lossy(&raw).into_owned(),
                ..Viewed::default()
            },
        })
    }
}

/// What stands where something is missing.
pub fn missing_line(range: &Range<u64>) -> String {
    format!(
        "\n[… {} of output were not kept here …]\n",
        show_size(range.end - range.start)
    )
}

/// Sorts ranges and merges those that touch or overlap.
fn join(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.filter(|range| !range.is_empty()).collect();
    sorted.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
