//! What a keeper sleeps on.

use crate::clock;
use crate::output::capture::Feed;
use crate::supervise::clients::ClientId;
use crate::supervise::keeper::Keeper;
use outlive_core::{BootTime, Stream};
use outlive_sys::poll::{self, Interest};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Why a keeper woke. The reasons are handled in this order: output comes before an end that has happened, and that
/// before a stop that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Output(Stream),
    LeaderEnded,
    /// A child, or a process of the tree that is watched, has ended.
    ProcessEnded,
    /// There is room for more input.
    Room,
    Deadline,
    /// The job runs out of the memory that it may use.
    OutOfMemory,
    /// In the foreground: a signal that asks for the job's end.
    Place,
    Connection,
    Client(ClientId),
}

/// What to sleep on, each with the reason for which it wakes the keeper.
struct Sources<'a> {
    wakes: Vec<Wake>,
    on: Vec<(BorrowedFd<'a>, Interest)>,
}

impl<'a> Sources<'a> {
    fn add(&mut self, wake: Wake, fd: BorrowedFd<'a>, interest: Interest) {
        self.wakes.push(wake);
        self.on.push((fd, interest));
    }
}

impl Keeper<'_> {
    /// Sleeps until something has happened.
    pub fn sleep(&mut self) -> io::Result<Vec<Wake>> {
        let leader = (!self.job.has_ended()).then_some(&self.leader);
        self.processes.arrange_polling(leader);
        let next = self.next_due();
        // If no timer can be had, `poll` gets a time limit instead. Its clock stands still while the machine is
        // suspended, so this is only the second choice.
        let untimed = self.alarm.set(next).err().and(next);
        let mut sources = Sources {
            wakes: Vec::new(),
            on: Vec::new(),
        };
        if self.pause.allows_work() {
            self.add_work(&mut sources);
        }
        if let Some(front) = &self.job.shared.front {
            sources.add(Wake::Place, front.bell(), Interest::Readable);
        }
        if self.pause.allows_clients() {
            self.add_clients(&mut sources);
        }
        // The pause needs no descriptor, because there may be too few of them.
        let left = |at: BootTime| at.since(clock::now());
        let limit = untimed.map(left).into_iter().chain(self.pause.left()).min();
        let ready = poll::wait(&sources.on, limit)?;
        let mut woken: Vec<Wake> = sources
            .wakes
            .into_iter()
            .zip(ready)
            .filter_map(|(wake, ready)| ready.then_some(wake))
            .collect();
        let is_due = untimed.is_some_and(|at| at <= clock::now());
        if is_due || self.pause.is_over() {
            woken.push(Wake::Deadline);
        }
        Ok(woken)
    }

    /// Adds the sources of the keeper's own work.
    fn add_work<'a>(&'a self, sources: &mut Sources<'a>) {
        let capture = &self.output.capture;
        if capture.feed_of(Stream::Stdout) == Feed::Open {
            let wake = Wake::Output(Stream::Stdout);
            sources.add(wake, self.output_fd(), Interest::Readable);
        }
        if let Some(feed) = &self.job.shared.feed_of_stderr
            && capture.feed_of(Stream::Stderr) == Feed::Open
        {
            let wake = Wake::Output(Stream::Stderr);
            sources.add(wake, feed.as_fd(), Interest::Readable);
        }
        let delivers = self.input.is_busy() && !self.is_waiting();
        if let (true, Some(fd)) = (delivers, self.job.shared.channel.writable()) {
            sources.add(Wake::Room, fd, Interest::Writable);
        }
        if let (Some((pidfd, interest)), false) = (self.leader.awaited(), self.job.has_ended())
            && let Some(bell) = pidfd.bell()
        {
            sources.add(Wake::LeaderEnded, bell, interest);
        }
        // SIGCHLD is reported here, too.
        sources.add(Wake::ProcessEnded, self.bell.as_fd(), Interest::Readable);
        for bell in self.processes.bells() {
            sources.add(Wake::ProcessEnded, bell, Interest::Readable);
        }
        if let Some(bell) = self.oom_bell() {
            sources.add(Wake::OutOfMemory, bell.as_fd(), Interest::Readable);
        }
        if let Some(timer) = self.alarm.timer() {
            sources.add(Wake::Deadline, timer.as_fd(), Interest::Readable);
        }
    }

    fn add_clients<'a>(&'a self, sources: &mut Sources<'a>) {
        let shared = &*self.job.shared;
        if self.clients.count() < shared.max_clients {
            let listener = shared.listener.as_fd();
            sources.add(Wake::Connection, listener, Interest::Readable);
        }
        for (id, fd) in self.clients.fds() {
            sources.add(Wake::Client(id), fd, Interest::Readable);
        }
    }

    /// The descriptor that becomes readable when the job has written something.
    fn output_fd(&self) -> BorrowedFd<'_> {
        match self.job.shared.source().terminal {
            Some(terminal) => terminal.master.as_fd(),
            None => self.job.shared.feed.as_fd(),
        }
    }

    /// When the next thing is due, if anything is.
    fn next_due(&self) -> Option<BootTime> {
        [
            self.timeout_at(),
            self.next_attempt_due(),
            self.stop.deadline(),
            self.input.look_at,
            self.input.turn_ends_at(),
            self.signs_due_at(),
            self.output.capture.due_at(),
            self.errands.end_at(),
            self.errands.next_ring(&self.job, &self.stop),
            self.pair.due_at(),
            self.processes.poll_at(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
