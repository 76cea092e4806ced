//! The keeper's loop: every source becomes a [`Wake`], and they are handled one by one, in order.
//!
//! It sleeps until the kernel has something, for as long as that takes. What a handler cannot do now
//! (no descriptors, no memory) it tries again a moment later; the job never waits for it.

use crate::errands::errand::{self, Errand};
use crate::hooks::{Hook, Role};
use crate::input::desk::Desk;
use crate::output::capture::{Capture, Feed};
use crate::output::indexing::Indexing;
use crate::output::mirror::Mirror;
use crate::pair::company::{Company, Haste, Which};
use crate::pair::shared::Shared;
use crate::signs::detector::Signs;
use crate::start::findable::Finding;
use crate::start::leader::Leader;
use crate::start::tools::{self, Tools};
use crate::supervise::clients::Clients;
use crate::supervise::ending::{Exited, Noted, Recorded};
use crate::supervise::escalation::Escalation;
use crate::supervise::ledger::{Ledger, now};
use crate::supervise::rounds::Rounds;
use crate::supervise::tail::{KeptSince, Tail};
use crate::supervise::wake::Wake;
use crate::tree::host;
use crate::tree::members::{Member, Tree};
use outlive_core::event::{Event, Keeping, Moment, StopCause, StopRequest};
use outlive_core::outcome::EndedBy;
use outlive_core::{Input, Leftovers, Phase, State};
use outlive_sys::child::GateInside;
use outlive_sys::clock::{self, Timer};
use outlive_sys::process;
use outlive_sys::process::own::Bell;
use std::fs::File;
use std::io;
use std::time::Duration;

/// How long a keeper leaves what failed alone before it tries again.
pub(crate) const HOLD_OFF: Duration = Duration::from_millis(100);

/// One keeper at work.
#[derive(Debug)]
pub struct Keeper<'a> {
    pub(crate) role: Role,
    pub(crate) shared: &'a mut Shared,
    pub(crate) ledger: Ledger,
    pub(crate) capture: Capture,
    pub(crate) desk: Desk,
    pub(crate) mirror: Option<Mirror>,
    pub(crate) indexing: Option<Indexing>,
    pub(crate) leader: Leader,
    pub(crate) tree: Tree,
    pub(crate) bell: Bell,
    pub(crate) clients: Clients,
    /// While the tree is being stopped.
    pub(crate) escalation: Option<Escalation>,
    /// Processes of an adopted tree, whose ends no bell rings for.
    pub(crate) watched: Vec<Member>,
    /// When processes are looked at whose ends nobody tells.
    pub(crate) rounds: Option<Rounds>,
    pub(crate) timer: Option<Timer>,
    /// What the timer is set to.
    pub(crate) timer_at: Option<u64>,
    /// Something failed, and is tried again after a moment.
    pub(crate) hold_off: Option<HoldOff>,
    /// When the leader was first seen to have ended, which may be long before the disk takes it.
    pub(crate) end_seen: Option<Moment>,
    /// The leader has ended and that could not be recorded: why.
    pub(crate) unrecorded: Option<String>,
    /// A stop that could not be journaled before it was begun.
    pub(crate) unwritten_stop: Option<(Moment, StopRequest)>,
    pub(crate) tail: Tail,
    pub(crate) noted: Option<Noted>,
    pub(crate) held: Held,
    pub(crate) kept: KeptSince,
    /// Keeps the feed from ending while the job runs, once it has.
    pub(crate) plug: Option<File>,
    /// What is looked for in the job, until it ends.
    pub(crate) signs: Option<Box<Signs>>,
    /// How much of the output was there when it was last looked at.
    pub(crate) noticed: u64,
    /// The leader's side of the gate, while the job waits for its turn.
    pub(crate) inside: Option<GateInside>,
    pub(crate) finding: Finding,
    /// Who would take over.
    pub(crate) company: Company,
    /// How standbys that this keeper has made fared.
    pub(crate) standbys: Haste,
    /// A stop is over: nothing is left that could be reached.
    pub(crate) stopped: bool,
    /// Somebody stopped the job after its end: a doorbell that has failed is not tried again.
    pub(crate) gives_up_ringing: bool,
    /// Processes at work for this keeper.
    pub(crate) errands: Vec<Errand>,
    /// What came of doorbells and could not be written down yet.
    pub(crate) unwritten: Vec<Event>,
    /// Somebody has been sent to see whether the job is ready.
    pub(crate) probed: bool,
}

/// Whether somebody has held the feed, and the terminal where there is one, all along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Unbroken,
    /// The job ended while nobody did, or was on a terminal, and what was in there went with its last holder.
    Broken,
}

/// That something failed and is tried again after a while, so that a keeper does not use up a processor with what
/// cannot be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HoldOff {
    /// In milliseconds since boot.
    pub until: u64,
    pub from: Rest,
}

/// What a keeper rests from meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Its own work. Those who are connected are answered: a journal that cannot be written (a full disk) must
    /// not keep them waiting.
    Work,
    /// Everything: serving them is what failed.
    All,
}

impl HoldOff {
    pub fn from(rest: Rest) -> HoldOff {
        HoldOff {
            until: clock::boot_ms() + HOLD_OFF.as_millis() as u64,
            from: rest,
        }
    }

    pub fn is_over(self) -> bool {
        clock::boot_ms() >= self.until
    }

    /// How long it lasts still.
    pub fn left(self) -> Duration {
        Duration::from_millis(self.until.saturating_sub(clock::boot_ms()))
    }
}

impl<'a> Keeper<'a> {
    /// Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub fn new(
        role: Role,
        shared: &'a mut Shared,
        mut ledger: Ledger,
        tools: Tools,
        leader: Leader,
        how: Keeping,
        finding: Finding,
    ) -> Box<Keeper<'a>> {
        let Tools {
            capture,
            desk,
            bell,
            indexing,
            signs,
        } = tools;
        let mirror = tools::begin_mirror(shared, &mut ledger, &capture);
        let noticed = capture.size();
        let state = ledger.state();
        // The journal may not say so: a full disk, or a predecessor that died first.
        let adopted = state.kept.as_ref().is_some_and(|kept| kept.adopted)
            || matches!(leader, Leader::Stranger { .. })
            || shared.orphaned
            || how == Keeping::Adopted;
        let process = state.phase.leader().map(|leader| leader.process);
        // On another host, or after a restart, its numbers are other processes'.
        let process = process.filter(|_| !adopted || host::has_processes_of(state));
        let mut tree = Tree::new(shared.job.path(), process, adopted);
        tree.is_front = shared.front.as_ref().is_some_and(|front| front.is_here());
        let mut keeper = Box::new(Keeper {
            role,
            shared,
            ledger,
            capture,
            desk,
            mirror,
            indexing,
            leader,
            tree,
            bell,
            clients: Clients::default(),
            escalation: None,
            watched: Vec::new(),
            rounds: None,
            timer: None,
            timer_at: None,
            hold_off: None,
            end_seen: None,
            unrecorded: None,
            unwritten_stop: None,
            tail: Tail::Unknown,
            noted: None,
            held: Held::Unbroken,
            kept: KeptSince::Unseen,
            signs,
            noticed,
            inside: None,
            plug: None,
            finding,
            company: Company::NOBODY,
            standbys: Haste::default(),
            stopped: false,
            gives_up_ringing: false,
            errands: Vec::new(),
            unwritten: Vec::new(),
            probed: false,
        });
        // A predecessor may have died before it came to this, and no more may come before.
        keeper.pass_on(false);
        if how == Keeping::Adopted {
            keeper.held = keeper.look_back();
        }
        keeper
    }

    /// Keeps the job until nothing of it is left. Returns at once in a standby that it has forked.
    pub fn run(mut self: Box<Self>) -> io::Result<Which> {
        let resumed = self.resume();
        self.attempt(Rest::Work, resumed);
        let heeded = self.heed_place();
        self.attempt(Rest::Work, heeded);
        self.shared.ring_ready();
        self.role.reach(Hook::Ready);
        loop {
            let settled = self.settle();
            self.attempt(Rest::Work, settled);
            self.clients
                .tell_news(self.ledger.state().seq, self.capture.size());
            if self.is_done() {
                // The standby has a copy, and may be held up.
                self.shared.listener.close();
                self.dismiss_standby();
                return Ok(Which::Keeper);
            }
            if let standby @ Which::Standby { .. } = self.find_company() {
                return Ok(standby);
            }
            let wakes = self.sleep()?;
            if wakes.contains(&Wake::LeaderEnded) {
                // Before a disk can hold this up.
                self.end_seen.get_or_insert_with(now);
            }
            for wake in wakes {
                let rest = match wake {
                    Wake::Connection | Wake::Client(_) => Rest::All,
                    _ => Rest::Work,
                };
                let handled = self.handle(wake);
                self.attempt(rest, handled);
            }
        }
    }

    /// Takes up what a predecessor left unfinished. Kept out of line, as `begin::begin` is.
    #[inline(never)]
    fn resume(&mut self) -> io::Result<()> {
        self.take_output()?;
        self.deliver()?;
        match self.ledger.state().phase.clone() {
            Phase::Ended { at, end, .. } => {
                if let Some(turn) = &self.shared.turn {
                    turn.release();
                }
                errand::end_inherited(&self.shared.job, self.shared.orphaned)?;
                // Who wrote it may have died before it was synced.
                self.ledger.journal().sync()?;
                let found = Recorded::found(at);
                self.noted = found
                    .publish(self.role, self.shared.asked(), &self.ledger)
                    .ok();
                self.go_on_stopping(end.ended_by)
            }
            Phase::Stopping(_, stop) => self
                .look_at_leader()
                .and_then(|()| self.escalate(stop.kill_at, None)),
            Phase::Unwritten | Phase::Accepted | Phase::Spawned(_) | Phase::Running(_) => {
                self.look_at_leader()
            }
        }
    }

    /// Remembers to try again where something failed.
    fn attempt(&mut self, rest: Rest, result: io::Result<()>) {
        if result.is_err() {
            self.hold_off(rest);
        }
    }

    /// Rests for a moment. One that rests already rests from both, and no longer than it would have.
    pub(crate) fn hold_off(&mut self, rest: Rest) {
        let new = HoldOff::from(rest);
        self.hold_off = Some(match self.hold_off {
            Some(old) => HoldOff {
                until: old.until.min(new.until),
                from: match (old.from, new.from) {
                    (Rest::Work, Rest::Work) => Rest::Work,
                    _ => Rest::All,
                },
            },
            None => new,
        });
    }

    pub(crate) fn state(&self) -> &State {
        self.ledger.state()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state().is_final()
    }

    /// Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub(crate) fn handle(&mut self, wake: Wake) -> io::Result<()> {
        match wake {
            Wake::Output => self.take_output(),
            Wake::LeaderEnded => self.look_at_leader(),
            Wake::ProcessEnded => self.process_ended(),
            Wake::Room => self.deliver(),
            Wake::Deadline => self.deadline(),
            Wake::Place => self.heed_place(),
            Wake::Connection => self
                .clients
                .accept(&self.shared.listener, self.shared.most_clients),
            Wake::Client(id) => self.serve(id),
        }
    }

    /// Records the end if the leader has come to it.
    pub(crate) fn look_at_leader(&mut self) -> io::Result<()> {
        if self.state().end().is_some() {
            return Ok(());
        }
        let Some(ended) = self.leader.look()? else {
            return Ok(());
        };
        // Where it could not be recorded at once, it ended when that was first tried.
        let at = *self.end_seen.get_or_insert_with(now);
        let exited = Exited {
            at,
            rings: self.has_bells_for(&ended.outcome),
            ended,
            kept: self.held == Held::Unbroken,
        };
        let synced = exited
            .drain(self.role, || self.drain())
            .sync(self.role, &self.capture);
        self.pass_on(true);
        self.notice_end();
        // A count that cannot be had must not keep the end from being recorded.
        let members = match (&self.leader, self.state().phase.leader()) {
            (Leader::NotStarted(_), _) => Ok(Vec::new()),
            (Leader::Child(_), Some(leader)) => self.tree.members_beside(leader.process.pid),
            _ => self.tree.members(),
        };
        let lingering = members.ok().map(|members| members.len() as u32);
        // Once the end can be read, another job may be given the same log.
        if lingering == Some(0) && self.capture.feed() == Feed::Ended {
            self.let_go_of_log();
        }
        let middle = self.shared.spec.dropped(self.capture.size());
        let findable = self.finding.done(&self.shared.job, &self.shared.spec);
        self.write_stop();
        let recorded = synced.record(
            self.role,
            findable,
            &mut self.ledger,
            &mut self.capture,
            lingering,
            &middle,
        );
        let recorded = recorded.inspect_err(|error| {
            self.unrecorded = Some(error.to_string());
        })?;
        self.kept = KeptSince::TheEnd;
        if let Some(turn) = &self.shared.turn {
            turn.release();
        }
        self.noted = recorded
            .publish(self.role, self.shared.asked(), &self.ledger)
            .ok();
        self.clients
            .tell_news(self.ledger.state().seq, self.capture.size());
        self.look_for_input()?;
        // What is left behind is not to wait for input that will not come.
        self.shared.channel.close();
        self.role.reach(Hook::Told);
        self.leader.reap();
        self.role.reach(Hook::Reaped);
        self.tail = Tail::Unknown;
        self.stop_leftovers()
    }

    /// A stop that ended the job is one of its whole tree, which a predecessor may not have come to the end of.
    fn go_on_stopping(&mut self, ended_by: EndedBy) -> io::Result<()> {
        match ended_by {
            EndedBy::Stop | EndedBy::Timeout | EndedBy::Place => self.stop_tree(),
            EndedBy::Itself | EndedBy::Memory | EndedBy::Signal | EndedBy::Unknown => {
                self.stop_leftovers()
            }
        }
    }

    fn stop_leftovers(&mut self) -> io::Result<()> {
        match self.shared.spec.leftovers {
            Leftovers::Stop => self.stop_tree(),
            Leftovers::Keep => Ok(()),
        }
    }

    /// Stops what is left of an ended job.
    fn stop_tree(&mut self) -> io::Result<()> {
        if !self.is_done() {
            let kill_at = clock::boot_ms().saturating_add(self.shared.spec.grace_ms);
            self.escalate(kill_at, None)?;
        }
        Ok(())
    }

    /// Lets go of ended orphans, and looks what that means for the tree. What fails keeps nothing else from being
    /// looked at, and is tried again after a moment: nobody tells of these ends once more.
    fn process_ended(&mut self) -> io::Result<()> {
        self.bell.quiet();
        self.look_at_parent();
        let standby = self.look_at_standby();
        let asked = self.heed_place();
        let leader = self.look_at_leader();
        let children = self.reap_children();
        self.tail = Tail::Unknown;
        standby.and(asked).and(leader).and(children)
    }

    fn reap_children(&mut self) -> io::Result<()> {
        loop {
            match process::any_ended_child() {
                // An unrecorded leader must stay until it is recorded.
                Ok(Some(pid)) if !self.is_unrecorded_leader(pid) => {
                    if !self.was_standby(pid)? && !self.was_copying(pid)? && !self.is_back(pid)? {
                        process::reap_child(pid)?;
                    }
                }
                // Ended, or no children at all.
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }

    /// Children whose ends are looked at before they are let go: the leader until its end is recorded, errands and
    /// the standby.
    pub(crate) fn unreaped(&self) -> Vec<i32> {
        let leader = self.state().phase.leader().map(|leader| leader.process.pid);
        let leader = leader.filter(|pid| self.is_unrecorded_leader(*pid));
        let errands = self.errands.iter().map(|errand| errand.pid);
        let copying = self.shared.front.as_ref().and_then(|front| front.copying());
        let others = leader.into_iter().chain(self.company.child());
        errands.chain(others).chain(copying).collect()
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
        // An end that cannot be recorded keeps nothing else from being done.
        let recorded = match self.hold_off.take() {
            Some(_) => self.process_ended(),
            None => Ok(()),
        };
        let recorded = recorded.and_then(|()| self.go_round(now));
        if self.timeout_at().is_some_and(|at| at <= now) {
            self.stop(StopRequest {
                by: StopCause::Timeout,
                detail: None,
                grace_ms: self.shared.spec.grace_ms,
                session: None,
            })?;
        }
        if self.desk.look_at.is_some_and(|at| at <= now) {
            self.look_for_input()?;
        }
        self.notice_time()?;
        self.capture.tick(self.shared.source(), now);
        self.end_late_errands();
        self.serve_queue()?;
        self.tail = Tail::Unknown;
        recorded
    }

    /// When a running job has had its time.
    pub(crate) fn timeout_at(&self) -> Option<u64> {
        match &self.state().phase {
            // It is being stopped, though that could not be journaled.
            Phase::Running(_) if self.unwritten_stop.is_some() => None,
            Phase::Running(leader) => Some(
                leader
                    .since
                    .boot_ms
                    .saturating_add(self.shared.spec.timeout_ms?),
            ),
            _ => None,
        }
    }

    pub(crate) fn stop(&mut self, asked: StopRequest) -> io::Result<()> {
        // From here on, however long it takes to write it down.
        let at = now();
        let kill_at = at.boot_ms.saturating_add(asked.grace_ms);
        let guard = self.set_guard(asked.grace_ms);
        // If it ended before it was asked, then it ended by itself. An end that cannot be recorded keeps nothing
        // from being stopped.
        let recorded = self.look_at_leader();
        let has_ended = recorded.is_err() && self.unrecorded.is_some();
        self.role.reach(Hook::StopAsked);
        // A closed job's doorbells are given up, so nothing more needs to be written down.
        self.gives_up_ringing |= self.state().end().is_some();
        let waits = self.is_waiting();
        if waits || matches!(self.state().phase, Phase::Running(_)) && !has_ended {
            // A disk that does not take it must not keep the job from being stopped.
            self.unwritten_stop.get_or_insert((at, asked));
            self.write_stop();
            self.role.reach(Hook::StopWritten);
        }
        let asked_by_guard = self.call_off(guard);
        if waits {
            self.give_up_turn();
            // Tried again after a moment where it cannot be recorded.
            let _ = self.look_at_leader();
        }
        self.escalate(kill_at, asked_by_guard)
    }

    /// Journals a stop that is not journaled yet, if that can be done now.
    fn write_stop(&mut self) {
        if let Some((at, asked)) = &self.unwritten_stop {
            let event = Event::StopRequested(asked.clone());
            if self.ledger.journal().append(*at, &[event]).is_ok() {
                self.unwritten_stop = None;
            }
        }
    }

    /// Begins to stop the tree, or goes on from when a guard asked it to end (boot time).
    fn escalate(&mut self, kill_at: u64, asked_by_guard: Option<u64>) -> io::Result<()> {
        match (&mut self.escalation, asked_by_guard) {
            (Some(escalation), _) => escalation.hurry(kill_at),
            (None, Some(asked_ms)) => {
                self.escalation = Some(Escalation::asked_before(asked_ms, kill_at));
            }
            (None, None) => {
                let on_terminal = matches!(self.shared.spec.input, Input::Pty(_));
                let escalation = Escalation::begin(clock::boot_ms(), kill_at, on_terminal);
                self.escalation = Some(escalation);
            }
        }
        self.role.reach(Hook::Terminated);
        self.tail = Tail::Unknown;
        Ok(())
    }
}
