//! Taking the output of a job whose streams are split: from two feeds, in turn, into one output.
//!
//! ```text
//!  stdout ─► feed     ─┐             ┌─► output    the bytes of both, as they arrive
//!                      ├─► keeper ───┤
//!  stderr ─► feed.err ─┘             └─► streams   where they change from one to the other, written first
//! ```
//! The feed whose stream the last byte is of can be taken at once. Before a byte of the other one is taken, it must be
//! written down that it comes, and that only if there is one: so the keeper looks first. If it cannot be written down (a
//! full disk), the byte is not stored either, and a gap says so. So no byte is ever taken for one of the other stream.
//!
//! Nobody can tell which of two feeds was written to first. So the keeper begins with the feed that woke it, and then
//! takes from both in turn, so that a fast writer does not keep it from the other one.

use crate::hooks::{Hook, Role};
use crate::output::capture::{Capture, Feed};
use crate::output::flow::Flow;
use crate::output::switches::Switches;
use outlive_core::{JobDir, Stream};
use outlive_sys::capture::{self, Found, Moved};
use std::fs::File;
use std::io;
use std::ops::Range;

/// What a capture needs in addition to take from a second feed.
#[derive(Debug)]
pub(super) struct Split {
    role: Role,
    switches: Switches,
    /// The state of the second feed.
    pub stderr: Side,
    /// The feed to take from next.
    next: Stream,
}

#[derive(Debug)]
pub(super) struct Side {
    pub feed: Feed,
    pub flow: Flow,
}

impl Split {
    /// Continues where a predecessor stopped.
    pub fn resume(role: Role, job: &JobDir) -> Split {
        Split {
            role,
            switches: Switches::resume(job),
            stderr: Side {
                feed: Feed::Open,
                flow: Flow::NEW,
            },
            next: Stream::Stdout,
        }
    }

    /// Forgets the switches of a range that is not kept.
    pub fn give_back(&mut self, dropped: Range<u64>) {
        self.switches.give_back(&dropped, self.role);
    }

    pub fn sync(&self) -> io::Result<()> {
        self.switches.sync()
    }
}

impl Capture {
    /// Takes from this feed first. It was written to when the keeper slept.
    pub fn prefer(&mut self, stream: Stream) {
        if let Some(split) = &mut self.split {
            split.next = stream;
        }
    }

    /// Moves at most `most` bytes out of both feeds. Returns how many were moved: fewer than `most` if there are no more
    /// now.
    pub(super) fn take_split(&mut self, feeds: [&File; 2], most: usize) -> io::Result<usize> {
        let mut moved = 0;
        let mut without = 0;
        while moved < most && without < feeds.len() {
            let stream = self.take_turn();
            let feed = feeds[usize::from(stream == Stream::Stderr)];
            match self.take_from(stream, feed, most - moved)? {
                0 => without += 1,
                count => {
                    without = 0;
                    moved += count;
                }
            }
        }
        Ok(moved)
    }

    fn take_turn(&mut self) -> Stream {
        let next = self.split.as_mut().map(|split| &mut split.next);
        next.map_or(Stream::Stdout, |next| std::mem::replace(next, next.other()))
    }

    fn take_from(&mut self, stream: Stream, feed: &File, most: usize) -> io::Result<usize> {
        if self.feed_of(stream) == Feed::Ended {
            return Ok(0);
        }
        let moved = self.move_of(stream, feed, most)?;
        let (state, flow) = match (stream, &mut self.split) {
            (Stream::Stderr, Some(split)) => (&mut split.stderr.feed, &mut split.stderr.flow),
            _ => (&mut self.feed, &mut self.flow),
        };
        match moved {
            Moved::Bytes(count) => {
                flow.moved(feed, count);
                return Ok(count);
            }
            Moved::Empty => flow.ran_dry(),
            Moved::End => *state = Feed::Ended,
        }
        Ok(0)
    }

    fn move_of(&mut self, stream: Stream, feed: &File, most: usize) -> io::Result<Moved> {
        let size = self.size();
        if let Some(split) = &mut self.split
            && split.switches.stream() != Some(stream)
        {
            match capture::look(feed)? {
                Found::Bytes => {}
                Found::Nothing => return Ok(Moved::Empty),
                Found::End => return Ok(Moved::End),
            }
            if split.switches.add(size, stream).is_err() {
                let room = self.store.room().min(most as u64) as usize;
                return self.drop_chunk(feed, room);
            }
            split.role.reach(Hook::Switched);
        }
        self.move_chunk(feed, most)
    }
}
