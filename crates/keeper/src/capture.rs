//! The job's output, byte for byte.
//!
//! Bytes move from the feed to the output file inside the kernel, taken and written in one step, so
//! a keeper killed here loses and doubles none. Where the disk is full, or fails, the job goes on:
//! what cannot be kept is taken out of the feed and the file grows by a hole of that size, so that
//! offsets stay true. The hole is journaled as a gap once something can be written again, or at the
//! end; a keeper that finds a hole nobody journaled knows that its predecessor died over it.
//!
//! An output larger than its bound is kept as its beginning and its rolling end: the middle is punched
//! out of the file, so that offsets stay true.

use crate::channel::Terminal;
use outlive_core::event::Event;
use outlive_core::layout::PRIVATE;
use outlive_core::{JobDir, Spec, State};
use outlive_sys::{file, pipe, pipe::Moved};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;

/// Larger single moves are slower on the filesystems measured, smaller ones cost more calls.
const CHUNK: usize = 128 * 1024;
/// Then others get their turn; a fast writer must not keep a stop waiting.
const CHUNKS_A_TURN: usize = 32;
/// More gaps than this at once are told as fewer and larger ones.
const MOST_GAPS: usize = 16;
/// No pipe of ours holds more than this, so draining this much takes all that an ended leader wrote.
const LARGEST_FEED: usize = 1024 * 1024;

/// The feed, the output, and what could not be kept.
#[derive(Debug)]
pub struct Capture {
    output: File,
    /// The end of the output, and where the file is positioned.
    size: u64,
    feed: Feed,
    /// The middle is given back to the disk up to here.
    given_back: u64,
    /// What could not be kept and is not journaled yet, in order.
    gaps: Vec<Range<u64>>,
    null: File,
}

/// Where output comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub feed: &'a File,
    /// The terminal that feeds the feed, where the job has one.
    pub terminal: Option<&'a Terminal>,
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
    pub fn resume(job: &JobDir, spec: &Spec, state: &State) -> io::Result<Capture> {
        let output = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE)
            .open(job.output())?;
        let size = file::seek_end(&output)?;
        let journaled = state.gaps.last().map_or(0, |gap| gap.end);
        let from = journaled.max(spec.dropped(size).end);
        let hole = file::next_hole(&output, from).unwrap_or(None);
        file::seek_end(&output)?;
        Ok(Capture {
            output,
            size,
            feed: Feed::Open,
            given_back: 0,
            gaps: hole.into_iter().collect(),
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
    pub fn turn(&mut self, source: Source<'_>) -> io::Result<bool> {
        self.move_up_to(source, CHUNK * CHUNKS_A_TURN)
    }

    /// Moves everything an ended leader can have left.
    pub fn drain(&mut self, source: Source<'_>) -> io::Result<()> {
        self.move_up_to(source, LARGEST_FEED).map(drop)
    }

    fn move_up_to(&mut self, source: Source<'_>, most: usize) -> io::Result<bool> {
        let mut moved = 0;
        while moved < most && self.feed == Feed::Open {
            // What a terminal has goes through the feed, of which its keepers are the only writers.
            let upstream = source.terminal.map(Terminal::fill_feed).transpose()?;
            match (self.move_chunk(source.feed)?, upstream) {
                (Moved::Bytes(count), _) => moved += count,
                (Moved::Empty, Some(Moved::Bytes(_))) => {}
                (Moved::Empty, Some(Moved::End)) | (Moved::End, _) => self.feed = Feed::Ended,
                (Moved::Empty, Some(Moved::Empty) | None) => break,
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
            self.note_gap(from..self.size);
            // Best effort on a disk that just failed; the size in memory stays right.
            let _ = file::extend_with_hole(&self.output, self.size);
            file::seek_end(&self.output)?;
        }
        Ok(moved)
    }

    /// Joins it to the last one where they meet, or where there are too many to name each.
    fn note_gap(&mut self, gap: Range<u64>) {
        let crowded = self.gaps.len() >= MOST_GAPS;
        match self.gaps.last_mut() {
            Some(last) if last.end == gap.start || crowded => last.end = gap.end,
            _ => self.gaps.push(gap),
        }
    }

    /// Whether a gap not yet journaled is complete: bytes have been kept after it.
    pub fn has_complete_gap(&self) -> bool {
        self.gaps.first().is_some_and(|gap| gap.end < self.size)
    }

    /// The gaps not yet journaled, complete or not.
    pub fn gaps(&self) -> Vec<Event> {
        let event = |gap: &Range<u64>| Event::Gap {
            from: gap.start,
            to: gap.end,
        };
        self.gaps.iter().map(event).collect()
    }

    pub fn gaps_are_journaled(&mut self) {
        self.gaps.clear();
    }

    /// Bytes dropped and not yet journaled.
    pub fn unjournaled(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.end - gap.start).sum()
    }

    /// Gives the middle of an output that is larger than its bound back to the disk.
    pub fn give_back(&mut self, job: &JobDir, spec: &Spec) {
        let middle = spec.dropped(self.size);
        let from = self.given_back.max(middle.start);
        if from >= middle.end {
            return;
        }
        let given_back = match file::punch(&self.output, from, middle.end - from) {
            Ok(()) => Ok(()),
            // Copying is dear, so a whole bound gathers first; then twice that is on the disk.
            Err(_) if middle.end - from < self.size - middle.end => return,
            Err(_) => self.rewrite(job, &middle),
        };
        // What could not be given back now is tried again with more.
        if given_back.is_ok() {
            self.given_back = middle.end;
        }
    }

    /// For filesystems that cannot punch holes: writes the output anew without its middle, every byte
    /// at its own offset, and puts that in its place. Killed over it, the next keeper finds the old one.
    fn rewrite(&mut self, job: &JobDir, middle: &Range<u64>) -> io::Result<()> {
        let path = job.output().with_extension("new");
        let new = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(PRIVATE)
            .open(&path)?;
        for kept in [0..middle.start, middle.end..self.size] {
            let mut at = kept.start;
            while at < kept.end {
                let most = (kept.end - at) as usize;
                match file::copy_range(&self.output, at, &new, at, most)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => at += count as u64,
                }
            }
        }
        file::seek_end(&new)?;
        std::fs::rename(&path, job.output())?;
        self.output = new;
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        self.output.sync_data()
    }
}
