//! What a keeper sleeps on.

use crate::output::capture::Feed;
use crate::supervise::clients::ClientId;
use crate::supervise::escalation::Escalation;
use crate::supervise::keeper::{HoldOff, Keeper, Rest};
use outlive_sys::clock::{self, Timer};
use outlive_sys::poll::{self, Interest};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

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
        self.begin_rounds();
        let next = self.next_due();
        // What no timer can be had for is waited for all the same, and only then by a limit, since the clock of that
        // stands still while the machine is suspended.
        let untimed = self.set_timer(next).err().and(next);
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
            if let (Some((pidfd, interest)), None) = (self.leader.awaited(), self.state().end())
                && let Some(bell) = pidfd.bell()
            {
                add(Wake::LeaderEnded, bell, interest);
            }
            // Of a child's end it tells as well.
            add(Wake::ProcessEnded, self.bell.as_fd(), Interest::Readable);
            for bell in self.watched.iter().filter_map(|member| member.pidfd.bell()) {
                add(Wake::ProcessEnded, bell, Interest::Readable);
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
        let left = |at: u64| Duration::from_millis(at.saturating_sub(clock::boot_ms()));
        let rest = self.hold_off.map(HoldOff::left);
        let limit = untimed.map(left).into_iter().chain(rest).min();
        let ready = poll::wait(&on, limit)?;
        let mut woken: Vec<Wake> = wakes
            .into_iter()
            .zip(ready)
            .filter_map(|(wake, ready)| ready.then_some(wake))
            .collect();
        let is_due = untimed.is_some_and(|at| at <= clock::boot_ms());
        if is_due || self.hold_off.is_some_and(HoldOff::is_over) {
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

    /// When the next thing is due, if anything is.
    fn next_due(&self) -> Option<u64> {
        let escalation = self.escalation.as_ref().and_then(Escalation::deadline);
        [
            self.timeout_at(),
            escalation,
            self.desk.look_at,
            self.desk.turn_ends_at(),
            self.signs_due_at(),
            self.capture.due_at(),
            self.errands_end_at(),
            self.next_ring(),
            self.company.due_at(),
            self.rounds.map(|rounds| rounds.at),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn set_timer(&mut self, next: Option<u64>) -> io::Result<()> {
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
