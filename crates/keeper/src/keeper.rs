//! The keeper's loop: every source becomes a [`Wake`], and they are handled one by one, in order.
//!
//! It sleeps until the kernel has something, for as long as that takes. What a handler cannot do now
//! (no descriptors, no memory) it tries again a moment later; the job never waits for it.

use crate::capture::{Capture, Feed};
use crate::clients::{Asked, ClientId, Clients};
use crate::ending::{self, Exited, Noted, Recorded};
use crate::escalation::{Escalation, Progress};
use crate::hooks::{Hook, Role};
use crate::leader::Leader;
use crate::ledger::{Ledger, now};
use crate::mirror::Mirror;
use crate::pair::Shared;
use crate::tree::{self, Member, Tree};
use crate::wake::Wake;
use outlive_core::control::{Reply, Request};
use outlive_core::event::{Event, Keeping, StopCause};
use outlive_core::{Leftovers, Phase, State};
use outlive_sys::own::{self, ChildBell};
use outlive_sys::poll::{self, Interest};
use outlive_sys::{clock, clock::Timer, pidfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long a keeper leaves what failed alone before it tries again.
const HOLD_OFF: Duration = Duration::from_millis(100);
/// Watched processes beyond this are found when one of those watched has ended.
const MOST_WATCHED: usize = 256;

/// One keeper at work.
#[derive(Debug)]
pub struct Keeper<'a> {
    role: Role,
    shared: &'a Shared,
    ledger: Ledger,
    capture: Capture,
    mirror: Option<Mirror<'a>>,
    leader: Leader,
    tree: Tree,
    bell: ChildBell,
    clients: Clients,
    /// While the tree is being stopped.
    escalation: Option<Escalation>,
    /// Processes of an adopted tree, whose ends no bell rings for.
    watched: Vec<Member>,
    timer: Option<Timer>,
    /// What the timer is set to.
    timer_at: Option<u64>,
    /// Something failed; for a moment only time is waited for.
    hold_off: Option<HoldOff>,
    tail: Tail,
    noted: Option<Noted>,
}

/// That something is to be tried again after a while.
#[derive(Clone, Copy, Debug)]
struct HoldOff;

/// What is known of the processes that may outlive the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Something may have changed since they were last looked for.
    Unknown,
    /// Some are left, or the leader itself is.
    Lingering,
    /// None is left.
    Empty,
    /// None is left to be reached: whoever still holds the output is not waited for.
    Stopped,
}

/// What a keeper cannot do without, made before there is a job that would have to do without it.
#[derive(Debug)]
pub struct Tools {
    capture: Capture,
    bell: ChildBell,
}

impl Tools {
    pub fn new(shared: &Shared, state: &State) -> io::Result<Tools> {
        Ok(Tools {
            capture: Capture::resume(&shared.job, state)?,
            bell: ChildBell::new()?,
        })
    }
}

/// The copy to the caller's log; none where it cannot be begun.
fn begin_mirror<'a>(
    shared: &'a Shared,
    ledger: &mut Ledger,
    capture: &Capture,
) -> Option<Mirror<'a>> {
    let log = shared.log.as_ref()?;
    let (mirror, begun) = Mirror::resume(log, ledger.state(), capture.output()).ok()?;
    // Unwritten on a full disk, a later keeper would take the log's size then for its base.
    let _ = begun.map(|event| ledger.write(&[event]));
    Some(mirror)
}

impl<'a> Keeper<'a> {
    pub fn new(
        role: Role,
        shared: &'a Shared,
        mut ledger: Ledger,
        tools: Tools,
        leader: Leader,
        how: Keeping,
    ) -> Keeper<'a> {
        let Tools { capture, bell } = tools;
        let mirror = begin_mirror(shared, &mut ledger, &capture);
        let state = ledger.state();
        // The journal may not say so: a full disk, or a predecessor that died first.
        let adopted = state.kept.as_ref().is_some_and(|kept| kept.adopted)
            || matches!(leader, Leader::Stranger { .. })
            || how == Keeping::Adopted;
        let process = state.phase.leader().map(|leader| leader.process);
        let tree = Tree::new(shared.job.path(), process.filter(|_| adopted));
        Keeper {
            role,
            shared,
            ledger,
            capture,
            mirror,
            leader,
            tree,
            bell,
            clients: Clients::default(),
            escalation: None,
            watched: Vec::new(),
            timer: None,
            timer_at: None,
            hold_off: None,
            tail: Tail::Unknown,
            noted: None,
        }
    }

    /// Keeps the job until nothing of it is left.
    pub fn run(mut self) -> io::Result<()> {
        let resumed = self.resume();
        self.attempt(resumed);
        self.shared.ring_ready();
        self.role.reach(Hook::Ready);
        loop {
            let settled = self.settle();
            self.attempt(settled);
            self.clients
                .tell_news(self.ledger.state().seq, self.capture.size());
            if self.is_done() {
                return Ok(());
            }
            for wake in self.sleep()? {
                let handled = self.handle(wake);
                self.attempt(handled);
            }
        }
    }

    /// Takes up what a predecessor left unfinished.
    fn resume(&mut self) -> io::Result<()> {
        match self.ledger.state().phase.clone() {
            Phase::Ended { at, .. } => {
                let found = Recorded::found(at);
                self.noted = found
                    .publish(self.role, &self.shared.job, &self.ledger)
                    .ok();
                self.stop_leftovers()
            }
            Phase::Stopping(_, stop) => self
                .look_at_leader()
                .and_then(|()| self.escalate(stop.kill_at)),
            Phase::Unwritten | Phase::Accepted | Phase::Spawned(_) | Phase::Running(_) => {
                self.look_at_leader()
            }
        }
    }

    /// Remembers to try again where something failed.
    fn attempt(&mut self, result: io::Result<()>) {
        if result.is_err() {
            self.hold_off = Some(HoldOff);
        }
    }

    fn state(&self) -> &State {
        self.ledger.state()
    }

    fn is_done(&self) -> bool {
        self.state().is_final()
    }

    fn handle(&mut self, wake: Wake) -> io::Result<()> {
        match wake {
            Wake::Output => self.take_output(),
            Wake::LeaderEnded => self.look_at_leader(),
            Wake::ProcessEnded => self.process_ended(),
            Wake::Deadline => self.deadline(),
            Wake::Connection => self
                .clients
                .accept(&self.shared.listener, self.shared.most_clients),
            Wake::Client(id) => self.serve(id),
        }
    }

    fn take_output(&mut self) -> io::Result<()> {
        self.capture.turn(&self.shared.feed)?;
        self.role.reach(Hook::Captured);
        if let Some(gap) = self.capture.complete_gap()
            && self.ledger.write(&[gap]).is_ok()
        {
            self.capture.gap_is_journaled();
        }
        self.copy_to_log();
        Ok(())
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

    /// Records the end if the leader has come to it.
    fn look_at_leader(&mut self) -> io::Result<()> {
        if self.state().end().is_some() {
            return Ok(());
        }
        let Some(ended) = self.leader.look()? else {
            return Ok(());
        };
        let exited = Exited { at: now(), ended };
        let synced = exited
            .drain(self.role, &mut self.capture, &self.shared.feed)
            .sync(self.role, &self.capture);
        self.copy_to_log();
        // A count that cannot be had must not keep the end from being recorded.
        let lingering = match self.leader {
            Leader::NotStarted(_) => Some(0),
            _ => self.tree.members().ok().map(|members| members.len() as u32),
        };
        let recorded = synced.record(self.role, &mut self.ledger, &mut self.capture, lingering)?;
        self.noted = recorded
            .publish(self.role, &self.shared.job, &self.ledger)
            .ok();
        self.clients
            .tell_news(self.ledger.state().seq, self.capture.size());
        self.role.reach(Hook::Told);
        self.leader.reap();
        self.role.reach(Hook::Reaped);
        self.tail = Tail::Unknown;
        self.stop_leftovers()
    }

    fn stop_leftovers(&mut self) -> io::Result<()> {
        if self.shared.spec.leftovers == Leftovers::Stop && !self.is_done() {
            self.escalate(clock::boot_ms().saturating_add(self.shared.spec.grace_ms))?;
        }
        Ok(())
    }

    /// Lets go of ended orphans, and looks what that means for the tree.
    fn process_ended(&mut self) -> io::Result<()> {
        self.bell.quiet();
        self.look_at_leader()?;
        loop {
            match pidfd::any_ended_child() {
                // An unrecorded leader must stay until it is recorded.
                Ok(Some(pid)) if !self.is_unrecorded_leader(pid) => pidfd::reap_child(pid)?,
                // Ended, or no children at all.
                Ok(_) | Err(_) => break,
            }
        }
        self.tail = Tail::Unknown;
        Ok(())
    }

    fn is_unrecorded_leader(&self, pid: i32) -> bool {
        let phase = &self.state().phase;
        !matches!(phase, Phase::Ended { .. })
            && phase
                .leader()
                .is_some_and(|leader| leader.process.pid == pid)
    }

    fn deadline(&mut self) -> io::Result<()> {
        let now = clock::boot_ms();
        if self.hold_off.take().is_some() {
            self.look_at_leader()?;
        }
        if self.timeout_at().is_some_and(|at| at <= now) {
            let grace_ms = self.shared.spec.grace_ms;
            self.stop(StopCause::Timeout, None, grace_ms)?;
        }
        self.tail = Tail::Unknown;
        Ok(())
    }

    /// When a running job has had its time.
    fn timeout_at(&self) -> Option<u64> {
        match &self.state().phase {
            Phase::Running(leader) => Some(
                leader
                    .since
                    .boot_ms
                    .saturating_add(self.shared.spec.timeout_ms?),
            ),
            _ => None,
        }
    }

    fn stop(&mut self, by: StopCause, detail: Option<String>, grace_ms: u64) -> io::Result<()> {
        // If it ended before it was asked, then it ended by itself.
        self.look_at_leader()?;
        self.role.reach(Hook::StopAsked);
        if matches!(self.state().phase, Phase::Running(_)) {
            let asked = Event::StopRequested {
                by,
                detail,
                grace_ms,
            };
            self.ledger.journal().append(now(), &[asked])?;
            self.role.reach(Hook::StopWritten);
        }
        self.escalate(clock::boot_ms().saturating_add(grace_ms))
    }

    fn escalate(&mut self, kill_at: u64) -> io::Result<()> {
        match &mut self.escalation {
            Some(escalation) => escalation.hurry(kill_at),
            None => self.escalation = Some(Escalation::begin(clock::boot_ms(), kill_at)),
        }
        self.role.reach(Hook::Terminated);
        self.tail = Tail::Unknown;
        Ok(())
    }

    /// Looks what is left of the tree, where that may have changed, and closes an ended job of which
    /// nothing is.
    fn settle(&mut self) -> io::Result<()> {
        if self.hold_off.is_some() {
            return Ok(());
        }
        if self.tail == Tail::Unknown {
            self.tail = self.look_at_tail()?;
        }
        let over = match self.tail {
            Tail::Unknown | Tail::Lingering => false,
            Tail::Empty => self.capture.feed() == Feed::Ended,
            Tail::Stopped => true,
        };
        if over && self.state().end().is_some() && !self.is_done() {
            let _ = self.capture.drain(&self.shared.feed);
            self.copy_to_log();
            let job = &self.shared.job;
            let noted = self.noted;
            ending::close(self.role, job, &mut self.ledger, &mut self.capture, noted)?;
        }
        Ok(())
    }

    fn look_at_tail(&mut self) -> io::Result<Tail> {
        let ended = self.state().end().is_some();
        if let Some(escalation) = &mut self.escalation {
            let progress = escalation.advance(&self.tree, clock::boot_ms())?;
            // Whoever is told of the stop can see the end, so that comes first.
            if progress == Progress::Done && ended {
                self.escalation = None;
                self.clients.tell_stopped();
                return Ok(Tail::Stopped);
            }
        } else if !ended {
            return Ok(Tail::Lingering);
        }
        let mut members = self.tree.members()?;
        let tail = if members.is_empty() {
            Tail::Empty
        } else {
            Tail::Lingering
        };
        members.truncate(MOST_WATCHED);
        self.watched = if self.tree.is_own() {
            Vec::new()
        } else {
            members
        };
        Ok(tail)
    }

    fn serve(&mut self, id: ClientId) -> io::Result<()> {
        for asked in self.clients.read(id) {
            self.answer(asked)?;
        }
        Ok(())
    }

    fn answer(&mut self, Asked { client, request }: Asked) -> io::Result<()> {
        match request {
            Request::News { seq, output } => self.clients.await_news(client, seq, output),
            Request::Stop { grace_ms, detail } => {
                self.clients.await_stopped(client);
                self.stop(
                    StopCause::Stop,
                    detail,
                    grace_ms.unwrap_or(self.shared.spec.grace_ms),
                )?;
            }
            Request::Signal { signal } => {
                let signaled = tree::signal(&self.tree.members()?, signal.number())?;
                let (reached, denied) = (signaled.reached, signaled.denied);
                self.clients
                    .reply(client, &Reply::Signaled { reached, denied });
            }
            Request::Count => {
                let processes = self.tree.members()?.len() as u32;
                self.clients.reply(client, &Reply::Count { processes });
            }
        }
        Ok(())
    }

    /// Sleeps until something has happened.
    fn sleep(&mut self) -> io::Result<Vec<Wake>> {
        if self.set_timer().is_err() {
            self.hold_off = Some(HoldOff);
        }
        let mut wakes: Vec<Wake> = Vec::new();
        let mut on: Vec<(BorrowedFd<'_>, Interest)> = Vec::new();
        let mut add = |wake, fd, interest| {
            wakes.push(wake);
            on.push((fd, interest));
        };
        if self.hold_off.is_none() {
            if self.capture.feed() == Feed::Open {
                add(Wake::Output, self.shared.feed.as_fd(), Interest::Readable);
            }
            if let (Some((pidfd, interest)), None) = (self.leader.awaited(), self.state().end()) {
                add(Wake::LeaderEnded, pidfd.as_fd(), interest);
            }
            add(Wake::ProcessEnded, self.bell.as_fd(), Interest::Readable);
            for member in &self.watched {
                add(Wake::ProcessEnded, member.pidfd.as_fd(), Interest::Readable);
            }
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
        if let (Some(timer), None) = (&self.timer, self.hold_off) {
            add(Wake::Deadline, timer.as_fd(), Interest::Readable);
        }
        // Needs no descriptor, which may be what there is too few of.
        let limit = self.hold_off.map(|HoldOff| HOLD_OFF);
        let ready = poll::wait(&on, limit)?;
        if self.hold_off.is_some() {
            return Ok(vec![Wake::Deadline]);
        }
        Ok(wakes
            .into_iter()
            .zip(ready)
            .filter_map(|(wake, ready)| ready.then_some(wake))
            .collect())
    }

    /// Sets the timer to the next thing that is due, if anything is.
    fn set_timer(&mut self) -> io::Result<()> {
        let escalation = self.escalation.as_ref().and_then(Escalation::deadline);
        let next = [self.timeout_at(), escalation].into_iter().flatten().min();
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

/// This process, as others can find it again.
pub fn identify(pid: i32) -> io::Result<outlive_core::ProcRef> {
    let stat = outlive_sys::procfs::stat(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(outlive_core::ProcRef {
        pid,
        started: stat.started,
    })
}

/// This process and its standby, as the journal names them.
pub fn kept(how: Keeping, standby: Option<i32>) -> io::Result<Event> {
    Ok(Event::Kept {
        how,
        keeper: identify(own::pid())?,
        // One that is gone already is none.
        standby: standby.and_then(|pid| identify(pid).ok()),
    })
}
