//! The job's output, byte for byte.
//!
//! Bytes move from the feed to the output file inside the kernel, in one step. So a keeper that is killed here loses none
//! and writes none twice. If the disk is full, or fails, the job continues: what cannot be stored is taken out of the
//! feed, and the file grows by a hole of that size, so that offsets stay right. The hole is journaled as a gap as soon as
//! something can be written again, or at the end. A keeper that finds a hole which is not in the journal knows that its
//! predecessor died before it journaled it.
//!
//! An output larger than its limit keeps its beginning and its end. The middle is freed on the disk one stride at a
//! time, so at most the limit plus one step of two strides is on the disk.

use crate::hooks::Role;
use crate::input::channel::Terminal;
use crate::output::flow::{Flow, LARGEST_FEED};
use crate::output::split::Split;
use crate::output::store::Store;
use outlive_core::event::Event;
use outlive_core::{BootTime, JobDir, OutputFiles, Spec, State, Stream, Streams};
use outlive_sys::capture::{self, Moved};
use std::fs::File;
use std::io;
use std::ops::Range;

/// At most this many bytes are moved at once: all that the feed can hold.
const CHUNK: usize = LARGEST_FEED;
/// If nothing can be stored, this many bytes are dropped before storing is tried again.
const DROP: usize = 64 * 1024;
/// After this many bytes the keeper handles other events: a fast writer must not delay a stop.
pub const TURN: usize = 4 * 1024 * 1024;
/// If there are more gaps than this, further ones are joined to the last one.
const MAX_GAPS: usize = 16;

/// The feed, the output, and the bytes that could not be stored.
#[derive(Debug)]
pub struct Capture {
    pub(super) store: Store,
    pub(super) feed: Feed,
    /// Ranges that could not be stored and are not journaled yet, in order.
    gaps: Vec<Range<u64>>,
    null: File,
    pub(super) flow: Flow,
    /// What is needed in addition if the streams are split.
    pub(super) split: Option<Box<Split>>,
}

/// Where output comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub feed: &'a File,
    /// The feed of standard error, if the streams are split. `feed` is that of standard output then.
    pub feed_of_stderr: Option<&'a File>,
    /// The terminal whose output goes to the feed, if the job has one.
    pub terminal: Option<&'a Terminal>,
}

/// The state of the feed when it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Some process has it open for writing.
    Open,
    /// No process has it open for writing any more, and it is empty.
    Ended,
}

impl Capture {
    /// Continues at the end of what a predecessor stored.
    pub fn resume(role: Role, job: &JobDir, spec: &Spec, state: &State) -> io::Result<Capture> {
        let mut store = Store::resume(job, spec)?;
        let journaled = state.gaps.last().map_or(0, |gap| gap.end);
        let from = journaled.max(spec.dropped(store.size()).end);
        let hole = store.first_hole(from).unwrap_or(None);
        Ok(Capture {
            store,
            feed: Feed::Open,
            gaps: hole.into_iter().collect(),
            null: File::options().write(true).open("/dev/null")?,
            flow: Flow::NEW,
            split: match spec.streams {
                Streams::Merged => None,
                Streams::Split => Some(Box::new(Split::resume(role, job))),
            },
        })
    }

    pub fn size(&self) -> u64 {
        self.store.size()
    }

    /// The stored output, for reading.
    pub fn output(&self) -> &OutputFiles {
        self.store.files()
    }

    /// Ended if every feed has.
    pub fn feed(&self) -> Feed {
        match &self.split {
            Some(split) if self.feed == Feed::Ended => split.stderr.feed,
            _ => self.feed,
        }
    }

    /// Of a job whose streams are not split, this is its only feed, or one that has ended.
    pub fn feed_of(&self, stream: Stream) -> Feed {
        match (stream, &self.split) {
            (Stream::Stdout, _) => self.feed,
            (Stream::Stderr, Some(split)) => split.stderr.feed,
            (Stream::Stderr, None) => Feed::Ended,
        }
    }

    /// A process has the feed open now, or may have it open, after a time in which none had.
    pub fn is_fed_with(&mut self, stream: Stream) {
        match (stream, &mut self.split) {
            (Stream::Stdout, _) => self.feed = Feed::Open,
            (Stream::Stderr, Some(split)) => split.stderr.feed = Feed::Open,
            (Stream::Stderr, None) => {}
        }
    }

    /// Like [`Capture::is_fed_with`], for every feed.
    pub fn is_fed(&mut self) {
        self.is_fed_with(Stream::Stdout);
        self.is_fed_with(Stream::Stderr);
    }

    /// How many bytes a leader that has ended can have left in its feeds.
    pub fn most_left(&self) -> usize {
        match self.split {
            None => LARGEST_FEED,
            // Both are taken in turn.
            Some(_) => 2 * LARGEST_FEED,
        }
    }

    /// When [`Capture::tick`] is to be called.
    pub fn due_at(&self) -> Option<BootTime> {
        let split = self.split.as_ref();
        let of_stderr = split.and_then(|split| split.stderr.flow.due_at());
        self.flow.due_at().into_iter().chain(of_stderr).min()
    }

    /// Checks whether a stream of output has ended.
    pub fn tick(&mut self, source: Source<'_>, now: BootTime) {
        self.flow.tick(source.feed, now);
        if let (Some(split), Some(feed)) = (&mut self.split, source.feed_of_stderr) {
            split.stderr.flow.tick(feed, now);
        }
    }

    /// At most this many bytes may be taken before the middle is freed.
    pub fn stride(&self) -> usize {
        usize::try_from(self.store.stride()).unwrap_or(usize::MAX)
    }

    /// Moves at most `most` bytes. Returns how many were moved: fewer than `most` if there are no more now.
    pub fn take(&mut self, source: Source<'_>, most: usize) -> io::Result<usize> {
        if let Some(of_stderr) = source.feed_of_stderr {
            return self.take_split([source.feed, of_stderr], most);
        }
        let mut moved = 0;
        while moved < most && self.feed == Feed::Open {
            // A terminal's output goes through the feed. Only the keepers write to the feed then.
            let upstream = source.terminal.map(Terminal::fill_feed).transpose()?;
            match (self.move_chunk(source.feed, most - moved)?, upstream) {
                (Moved::Bytes(count), None) => {
                    moved += count;
                    self.flow.moved(source.feed, count);
                }
                (Moved::Bytes(count), _) => moved += count,
                (Moved::Empty, Some(Moved::Bytes(_))) => {}
                (Moved::Empty, Some(Moved::End)) | (Moved::End, _) => self.feed = Feed::Ended,
                (Moved::Empty, Some(Moved::Empty) | None) => {
                    self.flow.ran_dry();
                    break;
                }
            }
        }
        Ok(moved)
    }

    pub(super) fn move_chunk(&mut self, feed: &File, most: usize) -> io::Result<Moved> {
        let most = self.store.room().min(CHUNK.min(most) as u64) as usize;
        let target = self.store.target();
        match target.and_then(|file| capture::move_bytes(feed, file, most)) {
            Ok(moved) => {
                if let Moved::Bytes(count) = moved {
                    self.store.has_grown(count as u64);
                }
                Ok(moved)
            }
            // Whatever prevents the output from being stored, the job must not wait for it.
            Err(_) => self.drop_chunk(feed, most),
        }
    }

    /// Takes bytes that cannot be stored.
    pub(super) fn drop_chunk(&mut self, feed: &File, most: usize) -> io::Result<Moved> {
        let most = most.min(DROP);
        let moved = capture::move_bytes(feed, &self.null, most)?;
        if let Moved::Bytes(count) = moved {
            let from = self.size();
            let skipped = self.store.skip(count as u64);
            self.note_gap(from..self.size());
            skipped?;
        }
        Ok(moved)
    }

    /// Joins a gap to the last one if they touch, or if there are too many to list.
    fn note_gap(&mut self, gap: Range<u64>) {
        let crowded = self.gaps.len() >= MAX_GAPS;
        match self.gaps.last_mut() {
            Some(last) if last.end == gap.start || crowded => last.end = gap.end,
            _ => self.gaps.push(gap),
        }
    }

    /// Whether a gap not yet journaled is complete: bytes have been kept after it.
    pub fn has_complete_gap(&self) -> bool {
        self.gaps.first().is_some_and(|gap| gap.end < self.size())
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

    /// How many bytes were dropped and are not journaled yet.
    pub fn unjournaled(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.end - gap.start).sum()
    }

    /// Frees the middle of an output that is larger than its limit.
    pub fn give_back(&mut self) {
        self.store.give_back();
        if let Some(split) = &mut self.split {
            split.give_back(self.store.dropped());
        }
    }

    pub fn sync(&self) -> io::Result<()> {
        self.store.sync()?;
        self.split.as_ref().map_or(Ok(()), |split| split.sync())
    }
}
