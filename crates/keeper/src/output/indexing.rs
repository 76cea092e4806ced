//! Adds marks for lines and times to the index while output comes.
//!
//! Marks only make reading faster. If one cannot be written, readers scan a longer part.

use crate::clock;
use outlive_core::event::Moment;
use outlive_core::index::{INTERVAL, Index, Mark, SPACING};
use outlive_core::layout;
use outlive_core::{BootTime, JobDir, OutputFiles};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const CHUNK: u64 = 64 * 1024;
const MAX_UNMARKED: u64 = 1 << 30;

/// The index being written.
#[derive(Debug)]
pub struct Indexing {
    path: PathBuf,
    /// Created with the first mark, since many jobs write nothing.
    file: Option<File>,
    /// Where the next mark goes.
    length: u64,
    last: Mark,
    /// The size of the output at the last look, and the time of that look.
    seen: (u64, Moment),
    /// When the last mark was made.
    marked: BootTime,
}

impl Indexing {
    /// Continues after the last mark in the file.
    pub fn resume(job: &JobDir) -> io::Result<Indexing> {
        let path = job.index();
        let bytes = match layout::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        let index = Index::parse(&bytes);
        Ok(Indexing {
            path,
            file: None,
            length: index.length(),
            last: index.last(),
            seen: (0, clock::moment()),
            marked: BootTime::default(),
        })
    }

    /// Adds marks for the output since the last mark, if it is long or old enough, or if some of it will be dropped:
    /// newlines below `dropped` cannot be counted later. `ended` says that no more output will come.
    pub fn advance(
        &mut self,
        output: &OutputFiles,
        size: u64,
        dropped: u64,
        ended: bool,
    ) -> io::Result<()> {
        let now = clock::moment();
        let (before, came) = self.seen;
        // After a pause, the output before it is marked with its own time.
        if before > self.last.offset && now.boot.since(came.boot) >= INTERVAL {
            self.mark(output, before, came)?;
        }
        // So many marks are missing only if somebody removed them, or extended the output file without writing.
        // Reading all of it would delay the job.
        if size.saturating_sub(self.last.offset) > MAX_UNMARKED {
            self.last.offset = size - SPACING;
        }
        while size >= self.last.offset + SPACING {
            self.mark(output, self.last.offset + SPACING, now)?;
        }
        let slow = now.boot.since(self.marked) >= INTERVAL;
        if size > self.last.offset && (slow || ended || dropped > self.last.offset) {
            self.mark(output, size, now)?;
        }
        self.seen = (size, now);
        Ok(())
    }

    fn mark(&mut self, output: &OutputFiles, offset: u64, at: Moment) -> io::Result<()> {
        let newlines = count_newlines(output, self.last.offset, offset)?;
        let mark = Mark {
            offset,
            newlines: self.last.newlines + newlines,
            // Readers search by time, so times never go back. If the clock was set back, the last time is used until
            // the clock has caught up.
            at: at.wall.max(self.last.at),
        };
        let file = match self.file.take() {
            Some(file) => file,
            None => layout::open_or_make(&self.path)?,
        };
        self.file
            .insert(file)
            .write_all_at(&mark.encode(), self.length)?;
        self.length += mark.encode().len() as u64;
        self.last = mark;
        self.marked = at.boot;
        Ok(())
    }
}

fn count_newlines(output: &OutputFiles, from: u64, to: u64) -> io::Result<u64> {
    let mut buffer = vec![0; CHUNK.min(to - from) as usize];
    let mut at = from;
    let mut count = 0;
    while at < to {
        let most = (to - at).min(CHUNK) as usize;
        let read = output.read_at(&mut buffer[..most], at)?;
        if read == 0 {
            break;
        }
        count += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        at += read as u64;
    }
    Ok(count)
}
