//! The files that the output is stored in, and how the middle of an output that is larger than its limit is freed.
//!
//! ```text
//!            at the head's end: can holes be punched here?
//!  Undecided ──── yes ──► Whole      one file; the middle is punched out of it
//!            ──── no ───► Segmented  the head, then one segment per stride; those of the middle are removed
//! ```
//! An output smaller than its head never needs this decision, and pays nothing. Every keeper comes to the same answer:
//! the directory of the segments exists, or the file is larger than the head, or nothing was decided yet. Bytes go
//! straight to their file. So a keeper that is killed leaves them where its successor finds them: the end of the last
//! file is the end of the output.

use outlive_core::bound::Bound;
use outlive_core::layout;
use outlive_core::output::{OutputFiles, Segments};
use outlive_core::{JobDir, Spec};
use outlive_sys::file;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;

/// How many bytes behind the end of the file are used to try whether holes can be punched.
const TRIAL: u64 = 4096;

/// The files of the output, being written.
#[derive(Debug)]
pub struct Store {
    job: JobDir,
    bound: Option<Bound>,
    files: OutputFiles,
    /// The size of the output.
    size: u64,
    form: Form,
    /// The middle is freed up to this offset.
    given_back: u64,
}

#[derive(Debug)]
enum Form {
    Undecided,
    Whole,
    /// The segment that was written to last, if any was.
    Segmented(Option<Current>),
}

#[derive(Debug)]
struct Current {
    start: u64,
    file: File,
}

impl Store {
    /// Continues at the end of what a predecessor stored.
    pub fn resume(job: &JobDir, spec: &Spec) -> io::Result<Store> {
        let output = layout::open_or_replace(&job.output())?;
        let bound = spec.bound();
        let files = OutputFiles::of(output, Segments::find(job, bound));
        let size = files.size()?;
        let form = match (files.segments(), bound) {
            (Some(_), _) => Form::Segmented(None),
            (None, Some(bound)) if size <= bound.head() => Form::Undecided,
            (None, _) => Form::Whole,
        };
        let mut store = Store {
            job: job.clone(),
            bound,
            files,
            size,
            form,
            given_back: 0,
        };
        store.go_to_end()?;
        Ok(store)
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The files, for reading.
    pub fn files(&self) -> &OutputFiles {
        &self.files
    }

    /// The middle, which is not kept.
    pub fn dropped(&self) -> Range<u64> {
        self.bound.map_or(0..0, |bound| bound.dropped(self.size))
    }

    /// At most this many bytes may be taken before the middle is freed.
    pub fn stride(&self) -> u64 {
        self.bound.map_or(u64::MAX, |bound| bound.stride())
    }

    /// How many bytes can be written before the next file may begin.
    pub fn room(&self) -> u64 {
        match (&self.form, self.bound) {
            (Form::Whole, _) | (_, None) => u64::MAX,
            (_, Some(bound)) if self.size < bound.head() => bound.head() - self.size,
            (_, Some(bound)) => bound.stride_of(self.size).end - self.size,
        }
    }

    /// The file for the next bytes, positioned where they belong.
    pub fn target(&mut self) -> io::Result<&File> {
        let head = self.bound.map_or(u64::MAX, |bound| bound.head());
        if matches!(self.form, Form::Undecided) && self.size >= head {
            self.decide()?;
        }
        match (&mut self.form, self.files.segments()) {
            (Form::Segmented(current), Some(segments)) if self.size >= head => {
                let start = segments.bound().stride_of(self.size).start;
                if current
                    .as_ref()
                    .is_none_or(|current| current.start != start)
                {
                    *current = Some(Current::open(segments, start, self.size)?);
                }
                Ok(current.as_ref().map_or(self.files.file(), |it| &it.file))
            }
            _ => Ok(self.files.file()),
        }
    }

    /// Decides between one file and segments, before the output outgrows its head. So whatever may be dropped lies
    /// either in the one file or in segments. Punching a hole behind the end of the file changes nothing.
    fn decide(&mut self) -> io::Result<()> {
        let Some(bound) = self.bound else {
            return Ok(());
        };
        if file::punch(self.files.file(), self.size, TRIAL).is_ok() {
            self.form = Form::Whole;
            return Ok(());
        }
        let segments = Segments::make(&self.job, bound)?;
        let output = self.files.file().try_clone()?;
        self.files = OutputFiles::of(output, Some(segments));
        self.form = Form::Segmented(None);
        Ok(())
    }

    /// This many bytes have been written to the target.
    pub fn has_grown(&mut self, count: u64) {
        self.size += count;
    }

    /// Extends the output by a hole.
    pub fn skip(&mut self, count: u64) -> io::Result<()> {
        self.size += count;
        // Best effort on a disk that has just failed. The size in memory stays right. If no new segment can be
        // created, the last one is extended.
        let _ = match (&self.form, self.bound) {
            (Form::Segmented(Some(current)), _) => {
                file::extend_with_hole(&current.file, self.size - current.start)
            }
            // If the file became larger than the head, a successor would take it for one in which holes can be
            // punched.
            (Form::Undecided, Some(bound)) => {
                file::extend_with_hole(self.files.file(), self.size.min(bound.head()))
            }
            _ => file::extend_with_hole(self.files.file(), self.size),
        };
        self.go_to_end()
    }

    fn go_to_end(&mut self) -> io::Result<()> {
        let (mut file, start) = match &self.form {
            Form::Segmented(Some(current)) => (&current.file, current.start),
            _ => (self.files.file(), 0),
        };
        file.seek(SeekFrom::Start(self.size - start)).map(drop)
    }

    /// Frees the middle of an output that is larger than its limit. What cannot be freed now is tried again with the
    /// next part.
    pub fn give_back(&mut self) {
        let middle = self.dropped();
        let from = self.given_back.max(middle.start);
        if from >= middle.end {
            return;
        }
        let given_back = match &self.form {
            // Nothing behind the head could be stored.
            Form::Undecided => Ok(()),
            Form::Whole => file::punch(self.files.file(), from, middle.end - from),
            Form::Segmented(current) => self.remove(current.as_ref(), &middle),
        };
        if given_back.is_ok() {
            self.given_back = middle.end;
        }
    }

    fn remove(&self, current: Option<&Current>, middle: &Range<u64>) -> io::Result<()> {
        let Some(segments) = self.files.segments() else {
            return Ok(());
        };
        let starts = match self.given_back {
            // A predecessor may have died before it removed these.
            0 => segments.starts()?,
            from => strides(segments.bound(), from..middle.end).collect(),
        };
        for start in starts.into_iter().filter(|start| *start < middle.end) {
            // The last segment says how long the output is, so it stays even if all of it was dropped.
            if current.is_none_or(|current| current.start != start) {
                segments.remove(start)?;
            }
        }
        Ok(())
    }

    /// The first hole at or after `from` that is not the dropped middle.
    pub fn first_hole(&mut self, from: u64) -> io::Result<Option<Range<u64>>> {
        let hole = match self.files.segments() {
            None => file::next_hole(self.files.file(), from),
            Some(segments) => self.hole_in_segments(segments.bound(), from),
        };
        // Searching has moved the write position.
        self.go_to_end()?;
        hole
    }

    fn hole_in_segments(&self, bound: Bound, from: u64) -> io::Result<Option<Range<u64>>> {
        if from >= self.size {
            return Ok(None);
        }
        let head = (from < bound.head()).then_some(0..bound.head());
        let behind = strides(bound, from.max(bound.head())..self.size);
        let behind = behind.map(|start| bound.stride_of(start));
        let mut found: Option<Range<u64>> = None;
        for part in head.into_iter().chain(behind) {
            let part = part.start.max(from)..part.end.min(self.size);
            match (self.hole_within(&part)?, &mut found) {
                (Some(hole), None) => found = Some(hole),
                (Some(hole), Some(found)) if hole.start == found.end => found.end = hole.end,
                _ => {}
            }
            // The hole ends within this part, so any later hole is another one.
            if found.as_ref().is_some_and(|hole| hole.end < part.end) {
                break;
            }
        }
        Ok(found)
    }

    /// The first hole of a part that lies in one file, or in none.
    fn hole_within(&self, part: &Range<u64>) -> io::Result<Option<Range<u64>>> {
        let Some(span) = self.files.locate(part.start)? else {
            return Ok(Some(part.clone()));
        };
        let origin = part.start - span.offset;
        let end = part.end.min(origin + span.file.metadata()?.len());
        let hole = file::next_hole(&span.file, span.offset)?
            .map(|hole| origin + hole.start..(origin + hole.end).min(end))
            .filter(|hole| hole.start < end);
        match hole {
            // A hole at the end of the file continues behind it.
            Some(hole) if hole.end == end => Ok(Some(hole.start..part.end)),
            None if end < part.end => Ok(Some(end.max(part.start)..part.end)),
            hole => Ok(hole),
        }
    }

    pub fn sync(&self) -> io::Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        layout::sync(self.files.file())?;
        self.files.segments().map_or(Ok(()), Segments::sync)
    }
}

impl Current {
    fn open(segments: &Segments, start: u64, size: u64) -> io::Result<Current> {
        let mut file = segments.open(start)?;
        // What is missing before it becomes a hole, so that the file's length says how long the output is.
        if file.metadata()?.len() < size - start {
            file::extend_with_hole(&file, size - start)?;
        }
        file.seek(SeekFrom::Start(size - start))?;
        Ok(Current { start, file })
    }
}

/// The starts of the strides that overlap a range behind the head.
fn strides(bound: Bound, range: Range<u64>) -> impl Iterator<Item = u64> {
    let first = bound.stride_of(range.start).start;
    (first..range.end).step_by(bound.stride() as usize)
}

#[cfg(test)]
mod tests;
