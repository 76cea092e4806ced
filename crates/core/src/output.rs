//! Where the bytes of an output lie.
//!
//! Usually in one file, out of whose middle keepers punch holes. Where holes cannot be punched that file
//! holds the head, and each stride behind it has a segment of its own, which is removed when it is
//! dropped. That it is so is told by the directory they lie in being there.
//!
//! ```text
//!  output      0 ── head
//!  output.d/            <offset> <offset> … one stride each, named by where they begin
//! ```
//! Either way byte `n` of the output is read at `n`, and what was dropped or could not be kept reads as
//! zeros: which ranges those are is told by the bound and by the journal. A file may end behind its
//! stride where the next could not be made; such an end only says how long the output is.

use crate::bound::Bound;
use crate::layout::{self, JobDir, PRIVATE_DIRECTORY};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::PathBuf;
use std::sync::Arc;

/// The files of one output, to be read.
#[derive(Debug)]
pub struct OutputFiles {
    file: Arc<File>,
    segments: Option<Segments>,
}

/// Where a byte lies.
#[derive(Debug)]
pub struct Place {
    pub file: Arc<File>,
    pub at: u64,
    /// So many bytes from there may lie in this file.
    pub most: u64,
}

impl OutputFiles {
    /// `None` when nothing has been written, not even by a keeper.
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

    /// The file that holds all of it, or its head.
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

    /// The file a byte lies in; `None` where there is none, because it was dropped or not kept.
    pub fn place(&self, at: u64) -> io::Result<Option<Place>> {
        let Some(segments) = &self.segments else {
            return Ok(Some(Place {
                file: Arc::clone(&self.file),
                at,
                most: u64::MAX - at,
            }));
        };
        if at < segments.bound.head() {
            return Ok(Some(Place {
                file: Arc::clone(&self.file),
                at,
                most: segments.bound.head() - at,
            }));
        }
        let stride = segments.bound.stride_of(at);
        let file = match layout::open(&segments.path(stride.start)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Some(Place {
            file: Arc::new(file),
            at: at - stride.start,
            most: stride.end - at,
        }))
    }

    /// Reads what lies there, up to the end of a file; nothing only at the end of the output.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if let Some(place) = self.place(at)? {
            let most = place.most.min(buffer.len() as u64) as usize;
            match place.file.read_at(&mut buffer[..most], place.at)? {
                0 => {}
                count => return Ok(count),
            }
        }
        let Some(segments) = &self.segments else {
            return Ok(0);
        };
        // Not kept, or not there yet.
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

/// How long an output is; nothing where it cannot be read.
pub fn size_of(job: &JobDir, bound: Option<Bound>) -> u64 {
    let end = Segments::find(job, bound).and_then(|segments| segments.end().ok());
    let size = fs::metadata(job.output()).map_or(0, |metadata| metadata.len());
    size.max(end.unwrap_or(0))
}

/// The segments of an output whose middle cannot be punched out.
#[derive(Debug)]
pub struct Segments {
    directory: PathBuf,
    bound: Bound,
}

impl Segments {
    /// `None` for an output without any.
    pub fn find(job: &JobDir, bound: Option<Bound>) -> Option<Segments> {
        let directory = job.segments();
        let bound = bound.filter(|_| directory.is_dir())?;
        Some(Segments { directory, bound })
    }

    /// From now on the output is kept in segments behind its head.
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

    /// Names sort as the bytes do.
    fn path(&self, start: u64) -> PathBuf {
        self.directory.join(format!("{start:020}"))
    }

    /// Where those that are there begin, in order.
    pub fn starts(&self) -> io::Result<Vec<u64>> {
        let mut starts = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            starts.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        starts.sort_unstable();
        Ok(starts)
    }

    /// How far the last of them reaches.
    fn end(&self) -> io::Result<u64> {
        loop {
            let starts = self.starts()?;
            let mut end = starts.is_empty().then_some(0);
            for start in starts {
                match fs::metadata(self.path(start)) {
                    Ok(metadata) => end = end.max(Some(start + metadata.len())),
                    // Dropped since. If all were, there are newer ones.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// The segment that begins there, made if there is none.
    pub fn open(&self, start: u64) -> io::Result<File> {
        layout::open_or_make(&self.path(start))
    }

    pub fn remove(&self, start: u64) -> io::Result<()> {
        match fs::remove_file(self.path(start)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Once on the disk, they stay through a power loss.
    pub fn sync(&self) -> io::Result<()> {
        for start in self.starts()? {
            layout::sync(&layout::open(&self.path(start))?)?;
        }
        layout::sync_all(&File::open(&self.directory)?)
    }
}

#[cfg(test)]
mod tests;
