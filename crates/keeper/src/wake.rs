//! What a keeper sleeps on.

use crate::capture::Feed;
use crate::clients::ClientId;
use crate::escalation::Escalation;
use crate::keeper::{HoldOff, Keeper, Rest};
use outlive_sys::clock::Timer;
use outlive_sys::poll::{self, Interest};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Why a keeper woke. They are handled in this order: an end that has happened comes before a stop
/// that is asked for, and output before both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Output,
    LeaderEnded,
    /// A child, or a process of the tree that is watched, has ended.
    ProcessEnded,
    /// There is room for more input.
    Room,
    Deadline,
    /// In the foreground manner: a signal that asks for the job's end.
    Place,
    Connection,
    Client(ClientId),
}

impl Keeper<'_> {
    /// Sleeps until something has happened.
    pub fn sleep(&mut self) -> io::Result<Vec<Wake>> {
        if self.set_timer().is_err() {
            self.hold_off(Rest::Work);
        }
        let mut wakes: Vec<Wake> = Vec::new();
        let mut on: Vec<(BorrowedFd<'_>, Interest)> = Vec::new();
        let mut add = |wake, fd, interest| {
            wakes.push(wake);
            on.push((fd, interest));
        };
        if self.hold_off.is_none() {
            if self.capture.feed() == Feed::Open {
                add(Wake::Output, self.output_fd(), Interest::Readable);
            }
            let delivers = self.desk.is_busy() && !self.is_waiting();
            if let (true, Some(fd)) = (delivers, self.shared.channel.writable()) {
                add(Wake::Room, fd, Interest::Writable);
            }
            if let (Some((pidfd, interest)), None) = (self.leader.awaited(), self.state().end()) {
                add(Wake::LeaderEnded, pidfd.as_fd(), interest);
            }
            add(Wake::ProcessEnded, self.bell.as_fd(), Interest::Readable);
            for member in &self.watched {
                add(Wake::ProcessEnded, member.pidfd.as_fd(), Interest::Readable);
            }
            if let Some(timer) = &self.timer {
                add(Wake::Deadline, timer.as_fd(), Interest::Readable);
            }
        }
        if let Some(front) = &self.shared.front {
            add(Wake::Place, front.bell(), Interest::Readable);
        }
        if self.hold_off.is_none_or(|hold| hold.from == Rest::Work) {
            if self.clients.count() < self.shared.most_clients {
                add(
                    Wake::Connection,
                    self.shared.listener.as_fd(),
                    Interest::Readable,
                );
            }
            for (id, fd) in self.clients.fds() {
                add(Wake::Client(id), fd, Interest::Readable);
            }
        }
        // Needs no descriptor, which may be what there is too few of.
        let limit = self.hold_off.map(HoldOff::left);
        let ready = poll::wait(&on, limit)?;
        let mut woken: Vec<Wake> = wakes
            .into_iter()
            .zip(ready)
            .filter_map(|(wake, ready)| ready.then_some(wake))
            .collect();
        if self.hold_off.is_some_and(HoldOff::is_over) {
            woken.push(Wake::Deadline);
        }
        Ok(woken)
    }

    /// What becomes readable when the job has written something.
    fn output_fd(&self) -> BorrowedFd<'_> {
        match self.shared.source().terminal {
            Some(terminal) => terminal.master.as_fd(),
            None => self.shared.feed.as_fd(),
        }
    }

    /// Sets the timer to the next thing that is due, if anything is.
    fn set_timer(&mut self) -> io::Result<()> {
        let escalation = self.escalation.as_ref().and_then(Escalation::deadline);
        let next = [
            self.timeout_at(),
            escalation,
            self.desk.look_at,
            self.desk.turn_ends_at(),
            self.signs_due_at(),
            self.capture.due_at(),
            self.errands_end_at(),
            self.next_ring(),
            self.company.due_at(),
        ]
        .into_iter()
        .flatten()
        .min();
        if next == self.timer_at {
            return Ok(());
        }
        if self.timer.is_none() {
            self.timer = Some(Timer::new()?);
        }
        if let Some(timer) = &self.timer {
            next.map_or_else(|| timer.clear(), |at| timer.set(at))?;
        }
        self.timer_at = next;
        Ok(())
    }
}
