//! Finds the file that holds a byte of an output.
//!
//! Usually one file holds the whole output, and keepers punch holes into its middle. Some filesystems
//! cannot punch holes. There the file holds only the head. Each stride after the head gets a segment
//! file of its own, and dropping the stride removes that file. Segments are in use when their directory
//! exists.
//!
//! ```text
//!  output      0 ── head
//!  output.d/            <offset> <offset> … one file per stride, named by its first offset
//! ```
//!
//! In both forms, byte `n` of the output is read at offset `n`. Bytes that were dropped or could not be
//! stored read as zeros; the bound and the journal tell which ranges those are. If the next segment
//! could not be created, the last file may be longer than its stride. Its length then only tells how
//! long the output is.

use crate::bound::Bound;
use crate::layout::{self, JobDir, PRIVATE_DIRECTORY};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::PathBuf;
use std::sync::Arc;

/// The files of one output, opened for reading.
#[derive(Debug)]
pub struct OutputFiles {
    file: Arc<File>,
    segments: Option<Segments>,
}

/// The file and offset that hold a byte of the output.
#[derive(Debug)]
pub struct OutputSpan {
    pub file: Arc<File>,
    pub offset: u64,
    /// At most this many bytes from `offset` on belong to this file.
    pub max_len: u64,
}

impl OutputFiles {
    /// Returns `None` if no output file exists yet.
    pub fn open(job: &JobDir, bound: Option<Bound>) -> io::Result<Option<OutputFiles>> {
        match layout::open(&job.output()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(OutputFiles::of(file?, Segments::find(job, bound)))),
        }
    }

    pub fn of(file: File, segments: Option<Segments>) -> OutputFiles {
        OutputFiles {
            file: Arc::new(file),
            segments,
        }
    }

    /// The file that holds the whole output, or its head.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn segments(&self) -> Option<&Segments> {
        self.segments.as_ref()
    }

    pub fn size(&self) -> io::Result<u64> {
        let end = self.segments.as_ref().map_or(Ok(0), Segments::end)?;
        Ok(self.file.metadata()?.len().max(end))
    }

    /// Finds the file that holds this byte. Returns `None` if the byte was dropped or never stored.
    pub fn locate(&self, at: u64) -> io::Result<Option<OutputSpan>> {
        let Some(segments) = &self.segments else {
            return Ok(Some(OutputSpan {
                file: Arc::clone(&self.file),
                offset: at,
                max_len: u64::MAX - at,
            }));
        };
        if at < segments.bound.head() {
            return Ok(Some(OutputSpan {
                file: Arc::clone(&self.file),
                offset: at,
                max_len: segments.bound.head() - at,
            }));
        }
        let stride = segments.bound.stride_of(at);
        let file = match layout::open(&segments.path(stride.start)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Some(OutputSpan {
            file: Arc::new(file),
            offset: at - stride.start,
            max_len: stride.end - at,
        }))
    }

    /// Reads up to the end of one file. Returns 0 only at the end of the output.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if let Some(span) = self.locate(at)? {
            let most = span.max_len.min(buffer.len() as u64) as usize;
            match span.file.read_at(&mut buffer[..most], span.offset)? {
                0 => {}
                count => return Ok(count),
            }
        }
        let Some(segments) = &self.segments else {
            return Ok(0);
        };
        // These bytes were dropped or never stored, or the output is shorter.
        let until = match at < segments.bound.head() {
            true => segments.bound.head(),
            false => segments.bound.stride_of(at).end,
        };
        let missing = self.size()?.min(until).saturating_sub(at);
        let count = missing.min(buffer.len() as u64) as usize;
        buffer[..count].fill(0);
        Ok(count)
    }
}

/// The length of an output in bytes; 0 if it cannot be read.
pub fn size_of(job: &JobDir, bound: Option<Bound>) -> u64 {
    let size = fs::metadata(job.output()).map_or(0, |metadata| metadata.len());
    // Segments come after a head that is full, so most outputs have none.
    let may_have = bound.filter(|bound| size >= bound.head());
    let end = Segments::find(job, may_have).and_then(|segments| segments.end().ok());
    size.max(end.unwrap_or(0))
}

/// The segment files of an output on a filesystem that cannot punch holes.
#[derive(Debug)]
pub struct Segments {
    directory: PathBuf,
    bound: Bound,
}

impl Segments {
    /// Returns `None` if the output has no segments.
    pub fn find(job: &JobDir, bound: Option<Bound>) -> Option<Segments> {
        let bound = bound?;
        let directory = job.segments();
        directory.is_dir().then_some(Segments { directory, bound })
    }

    /// Creates the segment directory. From now on, everything after the head is stored in segments.
    pub fn make(job: &JobDir, bound: Bound) -> io::Result<Segments> {
        let directory = job.segments();
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(&directory)?;
        Ok(Segments { directory, bound })
    }

    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// The zeros in front make names sort like offsets.
    fn path(&self, start: u64) -> PathBuf {
        self.directory.join(format!("{start:020}"))
    }

    /// The start offsets of the existing segments, in order.
    pub fn starts(&self) -> io::Result<Vec<u64>> {
        let mut starts = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            starts.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        starts.sort_unstable();
        Ok(starts)
    }

    /// The end offset of the last segment.
    fn end(&self) -> io::Result<u64> {
        loop {
            let starts = self.starts()?;
            let mut end = starts.is_empty().then_some(0);
            for start in starts {
                match fs::metadata(self.path(start)) {
                    Ok(metadata) => end = end.max(Some(start + metadata.len())),
                    // It was dropped after we listed the directory. If all are gone, newer ones exist.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Opens the segment that begins at `start`, and creates it if needed.
    pub fn open(&self, start: u64) -> io::Result<File> {
        layout::open_or_make(&self.path(start))
    }

    pub fn remove(&self, start: u64) -> io::Result<()> {
        match fs::remove_file(self.path(start)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Flushes the segments and their directory to disk, so that they survive a power loss.
    pub fn sync(&self) -> io::Result<()> {
        for start in self.starts()? {
            layout::sync(&layout::open(&self.path(start))?)?;
        }
        layout::sync_all(&File::open(&self.directory)?)
    }
}

#[cfg(test)]
mod tests;
