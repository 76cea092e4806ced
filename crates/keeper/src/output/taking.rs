//! Taking the output: into its files, to the caller's log and into the index, one stride at a time.
//!
//! An output that is larger than its limit loses its middle. Before a part of the middle is given back to the
//! disk, it has been copied to the log and indexed. So at most the
//! limit and one step (two strides, see `core/bound.rs`) is ever on the disk.

use crate::hooks::Hook;
use crate::output::capture::{Capture, Feed, TURN};
use crate::output::indexing::Indexing;
use crate::output::mirror::Mirror;
use crate::signs::sign_watch::SignWatch;
use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use outlive_core::{Input, Stream};
use outlive_sys::capture;
use std::fs::File;
use std::io;
use std::ops::Range;

/// The job's output and everything derived from it.
#[derive(Debug)]
pub(crate) struct Output {
    pub capture: Capture,
    /// The copy to the caller's log, until the log is released.
    mirror: Option<Mirror>,
    indexing: Option<Indexing>,
    /// Writers of our own, which keep a feed open after the job's last writer has closed it.
    plugs: [Option<File>; 2],
    continuity: Continuity,
}

/// Whether a keeper, or a process of the job, held the feed (and the terminal, if there is one) all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Continuity {
    Unbroken,
    /// For some time nobody held it. What was in the feed or the terminal then is lost.
    Broken,
}

impl Output {
    pub fn new(capture: Capture, mirror: Option<Mirror>, indexing: Option<Indexing>) -> Output {
        Output {
            capture,
            mirror,
            indexing,
            plugs: [None, None],
            continuity: Continuity::Unbroken,
        }
    }

    /// Whether nothing of the output was lost.
    pub fn is_complete(&self) -> bool {
        self.continuity == Continuity::Unbroken
    }

    /// For an adopted job: finds out whether output was lost before this keeper opened the feed.
    pub fn look_back(&mut self, job: &mut KeptJob, signs: &mut SignWatch) {
        let lingering = job.state().end().map(|end| end.lingering);
        let _ = self.take(job, signs, TURN);
        let on_terminal = matches!(job.spec().input, Input::Pty(_));
        // With split streams, one of them may be lost and the other not.
        let has_ended = |stream| self.capture.feed_of(stream) == Feed::Ended;
        let is_split = job.shared.feed_of_stderr.is_some();
        let feed_ended = has_ended(Stream::Stdout) || is_split && has_ended(Stream::Stderr);
        // The last process to close the feed discarded what was in it. If nobody has it open now, perhaps nobody
        // ever had; but this cannot be known.
        let is_broken = match lingering {
            Some(count) => count > 0 && feed_ended,
            // Whatever was in the terminal is lost in any case.
            None => on_terminal || feed_ended,
        };
        if is_broken {
            self.continuity = Continuity::Broken;
        }
    }

    /// Keeps a feed open that nobody has open any more: while the job runs, its processes may open it again by
    /// name, and a feed at its end cannot report that.
    pub fn hold_open(&mut self, job: &KeptJob) {
        let on_terminal = job.shared.source().terminal.is_some();
        if on_terminal || job.has_ended() {
            return;
        }
        let feeds = [
            (Stream::Stdout, Some(&job.shared.feed)),
            (Stream::Stderr, job.shared.feed_of_stderr.as_ref()),
        ];
        for ((stream, feed), plug) in feeds.into_iter().zip(&mut self.plugs) {
            if let (Some(feed), Feed::Ended) = (feed, self.capture.feed_of(stream)) {
                *plug = capture::writing_end(feed).ok();
                if plug.is_some() {
                    self.capture.is_fed_with(stream);
                }
            }
        }
    }

    /// Takes everything that a leader which has ended can have left in the feed.
    pub fn drain(&mut self, job: &mut KeptJob, signs: &mut SignWatch) {
        self.plugs = [None, None];
        self.capture.is_fed();
        let _ = self.take(job, signs, self.capture.most_left());
    }

    /// Takes at most `most` bytes of output, one stride at a time.
    pub fn take(
        &mut self,
        job: &mut KeptJob,
        signs: &mut SignWatch,
        most: usize,
    ) -> io::Result<()> {
        let mut left = most;
        while left > 0 {
            let stride = self.capture.stride().min(left);
            let moved = self.capture.take(job.shared.source(), stride);
            job.reach(Hook::Captured);
            // A gap that still grows is journaled once it is complete.
            if self.capture.has_complete_gap() && job.ledger.write(&self.capture.gaps()).is_ok() {
                self.capture.gaps_are_journaled();
            }
            self.pass_on(job, signs, false);
            left = match moved? {
                moved if moved < stride => 0,
                _ => left - stride,
            };
        }
        Ok(())
    }

    /// Copies, indexes and searches new output, and then gives the middle back to the disk. `ended` says that no
    /// more output will come.
    pub fn pass_on(&mut self, job: &mut KeptJob, signs: &mut SignWatch, ended: bool) {
        self.copy_to_log(job);
        let size = self.capture.size();
        let dropped = job.spec().dropped(size).end;
        if let Some(indexing) = &mut self.indexing {
            let _ = indexing.advance(self.capture.output(), size, dropped, ended);
        }
        signs.look_at_output(job, &self.capture);
        self.capture.give_back();
    }

    /// The part of the output that is not kept.
    pub fn dropped(&self, job: &KeptJob) -> Range<u64> {
        job.spec().dropped(self.capture.size())
    }

    /// Releases the caller's log. This comes after the last copy, and before anybody is told that the output is
    /// complete.
    pub fn release_log(&mut self) {
        if let Some(mirror) = self.mirror.take() {
            mirror.release();
        }
    }

    fn copy_to_log(&mut self, job: &mut KeptJob) {
        let Some(mirror) = &mut self.mirror else {
            return;
        };
        if let Ok(Some(moved)) = mirror.step_behind_others() {
            let _ = job.ledger.write(&[moved]);
        }
        let _ = mirror.copy(self.capture.output(), self.capture.size());
    }
}

impl Keeper<'_> {
    pub(crate) fn take_output(&mut self) -> io::Result<()> {
        let taken = self.output.take(&mut self.job, &mut self.signs, TURN);
        self.output.hold_open(&self.job);
        self.look_soon();
        taken
    }
}
