//! Taking the output: into its files, to the caller's log and into the index, a stride at a time.
//!
//! What displaces something of an output that has outgrown its bound comes only when what it displaces
//! has been copied, marked and given back; so the bound and a step is the most that is ever on the disk.

use crate::hooks::Hook;
use crate::output::capture::{Feed, TURN};
use crate::output::flow::LARGEST_FEED;
use crate::supervise::keeper::{Held, Keeper};
use outlive_core::Input;
use outlive_sys::capture;
use std::io;

impl Keeper<'_> {
    /// Whether an adopted job was still running, or its feed still held, when this keeper opened it. What
    /// a terminal had not passed on went with it in any case.
    pub(crate) fn look_back(&mut self) -> Held {
        let lingering = self.state().end().map(|end| end.lingering);
        let _ = self.take(TURN);
        let on_terminal = matches!(self.shared.spec.input, Input::Pty(_));
        let feed_ended = self.capture.feed() == Feed::Ended;
        // Whoever had the feed open last took with it what was in there. That nobody has it now may also be because
        // nobody had it before; but nobody can tell.
        let is_broken = match lingering {
            Some(count) => count > 0 && feed_ended,
            None => on_terminal || feed_ended,
        };
        match is_broken {
            true => Held::Broken,
            false => Held::Unbroken,
        }
    }

    pub(crate) fn take_output(&mut self) -> io::Result<()> {
        let taken = self.take(TURN);
        self.hold_open();
        self.look_soon();
        taken
    }

    /// A feed that nobody has open may be opened again by its name, as long as the job runs; and whether it
    /// was is not to be heard from one that has ended.
    fn hold_open(&mut self) {
        let on_terminal = self.shared.source().terminal.is_some();
        if self.capture.feed() == Feed::Ended && !on_terminal && self.state().end().is_none() {
            self.plug = capture::writing_end(&self.shared.feed).ok();
            if self.plug.is_some() {
                self.capture.is_fed();
            }
        }
    }

    /// Takes everything an ended leader can have left.
    pub(crate) fn drain(&mut self) {
        self.plug = None;
        self.capture.is_fed();
        let _ = self.take(LARGEST_FEED);
    }

    /// Takes up to so much output, a stride at a time.
    fn take(&mut self, most: usize) -> io::Result<()> {
        let mut left = most;
        while left > 0 {
            let stride = self.capture.stride().min(left);
            let moved = self.capture.take(self.shared.source(), stride);
            self.role.reach(Hook::Captured);
            // One that still grows is journaled once it does not.
            if self.capture.has_complete_gap() && self.ledger.write(&self.capture.gaps()).is_ok() {
                self.capture.gaps_are_journaled();
            }
            self.pass_on(false);
            left = match moved? {
                moved if moved < stride => 0,
                _ => left - stride,
            };
        }
        Ok(())
    }

    /// Copies and marks what has come, before its middle may be dropped; `ended` if no more will.
    pub(crate) fn pass_on(&mut self, ended: bool) {
        self.copy_to_log();
        let size = self.capture.size();
        let dropped = self.shared.spec.dropped(size).end;
        if let Some(indexing) = &mut self.indexing {
            let _ = indexing.advance(self.capture.output(), size, dropped, ended);
        }
        self.notice_output();
        self.capture.give_back();
    }

    /// Once nothing more will come, before anybody is told so.
    pub(crate) fn let_go_of_log(&mut self) {
        if let Some(mirror) = self.mirror.take() {
            mirror.release();
        }
    }

    fn copy_to_log(&mut self) {
        let Some(mirror) = &mut self.mirror else {
            return;
        };
        if let Ok(Some(moved)) = mirror.step_behind_others() {
            let _ = self.ledger.write(&[moved]);
        }
        let _ = mirror.copy(self.capture.output(), self.capture.size());
    }
}
