//! The job's output, byte for byte.
//!
//! Bytes move from the feed to the output file inside the kernel, taken and written in one step, so
//! a keeper killed here loses and doubles none. Where the disk is full, or fails, the job goes on:
//! what cannot be kept is taken out of the feed and the file grows by a hole of that size, so that
//! offsets stay true. The hole is journaled as a gap once something can be written again, or at the
//! end; a keeper that finds a hole nobody journaled knows that its predecessor died over it.

use outlive_core::event::Event;
use outlive_core::layout::PRIVATE;
use outlive_core::{JobDir, State};
use outlive_sys::{file, pipe, pipe::Moved};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;

/// Larger single moves are slower on the filesystems measured, smaller ones cost more calls.
const CHUNK: usize = 128 * 1024;
/// Then others get their turn; a fast writer must not keep a stop waiting.
const CHUNKS_A_TURN: usize = 32;
/// No pipe of ours holds more than this, so draining this much takes all that an ended leader wrote.
const LARGEST_FEED: usize = 1024 * 1024;

/// The feed, the output, and what could not be kept.
#[derive(Debug)]
pub struct Capture {
    output: File,
    /// The end of the output, and where the file is positioned.
    size: u64,
    feed: Feed,
    /// The gap at the end of the output, not yet journaled.
    gap: Option<Range<u64>>,
    null: File,
}

/// What the feed had when last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Somebody has it open.
    Open,
    /// Nobody has it open any more, and it is empty.
    Ended,
}

impl Capture {
    /// Goes on at the end of what is already there.
    pub fn resume(job: &JobDir, state: &State) -> io::Result<Capture> {
        let output = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE)
            .open(job.output())?;
        let from = state.gaps.last().map_or(0, |gap| gap.end);
        let gap = file::next_hole(&output, from).unwrap_or(None);
        let size = file::seek_end(&output)?;
        Ok(Capture {
            output,
            size,
            feed: Feed::Open,
            gap,
            null: File::options().write(true).open("/dev/null")?,
        })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn output(&self) -> &File {
        &self.output
    }

    pub fn feed(&self) -> Feed {
        self.feed
    }

    /// Moves what is there, up to a turn's worth. Says whether anything came.
    pub fn turn(&mut self, feed: &File) -> io::Result<bool> {
        self.move_up_to(feed, CHUNK * CHUNKS_A_TURN)
    }

    /// Moves everything an ended leader can have left in the feed.
    pub fn drain(&mut self, feed: &File) -> io::Result<()> {
        self.move_up_to(feed, LARGEST_FEED).map(drop)
    }

    fn move_up_to(&mut self, feed: &File, most: usize) -> io::Result<bool> {
        let mut moved = 0;
        while moved < most && self.feed == Feed::Open {
            match self.move_chunk(feed)? {
                Moved::Bytes(count) => moved += count,
                Moved::Empty => break,
                Moved::End => self.feed = Feed::Ended,
            }
        }
        Ok(moved > 0)
    }

    fn move_chunk(&mut self, feed: &File) -> io::Result<Moved> {
        match pipe::move_bytes(feed, &self.output, CHUNK) {
            Ok(moved) => {
                if let Moved::Bytes(count) = moved {
                    self.size += count as u64;
                }
                Ok(moved)
            }
            // Whatever keeps the output from being written, the job is not to suffer for it.
            Err(_) => self.drop_chunk(feed),
        }
    }

    fn drop_chunk(&mut self, feed: &File) -> io::Result<Moved> {
        let moved = pipe::move_bytes(feed, &self.null, CHUNK)?;
        if let Moved::Bytes(count) = moved {
            let from = self.size;
            self.size += count as u64;
            self.gap = match self.gap.take() {
                Some(gap) if gap.end == from => Some(gap.start..self.size),
                // Bytes were kept since the last one, which the keeper has journaled by now.
                _ => Some(from..self.size),
            };
            // Best effort on a disk that just failed; the size in memory stays right.
            let _ = file::extend_with_hole(&self.output, self.size);
            file::seek_end(&self.output)?;
        }
        Ok(moved)
    }

    /// The gap not yet journaled, once it is complete: bytes have been kept after it.
    pub fn complete_gap(&self) -> Option<Event> {
        self.gap()
            .filter(|_| self.gap.as_ref().is_some_and(|gap| gap.end < self.size))
    }

    /// The gap not yet journaled, complete or not.
    pub fn gap(&self) -> Option<Event> {
        let gap = self.gap.as_ref()?;
        Some(Event::Gap {
            from: gap.start,
            to: gap.end,
        })
    }

    pub fn gap_is_journaled(&mut self) {
        self.gap = None;
    }

    /// Bytes dropped and not yet journaled.
    pub fn unjournaled(&self) -> u64 {
        self.gap.as_ref().map_or(0, |gap| gap.end - gap.start)
    }

    pub fn sync(&self) -> io::Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        self.output.sync_data()
    }
}
