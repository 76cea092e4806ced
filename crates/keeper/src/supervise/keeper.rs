//! The keeper's loop: every source becomes a [`Wake`], and they are handled one by one, in order.
//!
//! The keeper sleeps until the kernel reports something, however long that takes. What a handler cannot do now (no
//! descriptors, no memory) is retried a moment later. The job never waits for it.
//!
//! A [`Keeper`] consists of parts that own their data. Work that needs several parts is done by methods of the keeper,
//! each in the module of the part that it is about.

use crate::clock;
use crate::errands::dispatch::Errands;
use crate::errands::errand;
use crate::hooks::Hook;
use crate::input::writes::InputState;
use crate::output::taking::Output;
use crate::pair::partner::{Pair, PairRole, Partner};
use crate::signs::sign_watch::SignWatch;
use crate::start::findable::Finding;
use crate::start::leader::Leader;
use crate::start::tools::{self, Tools};
use crate::supervise::clients::Clients;
use crate::supervise::end::End;
use crate::supervise::ending::Recorded;
use crate::supervise::kept_job::KeptJob;
use crate::supervise::stopping::Stop;
use crate::supervise::timing::{Alarm, Pause, Paused};
use crate::supervise::wake::Wake;
use crate::tree::foreign::Foreign;
use crate::tree::host;
use crate::tree::members::Tree;
use crate::tree::observed::Observed;
use outlive_core::event::Keeping;
use outlive_core::{BootTime, Phase};
use outlive_sys::process;
use outlive_sys::process::own::Bell;
use std::io;

/// One keeper at work.
#[derive(Debug)]
pub struct Keeper<'a> {
    pub(crate) job: KeptJob<'a>,
    pub(crate) leader: Leader,
    pub(crate) processes: Observed,
    pub(crate) output: Output,
    pub(crate) signs: SignWatch,
    pub(crate) input: InputState,
    pub(crate) clients: Clients,
    pub(crate) stop: Stop,
    pub(crate) end: End,
    pub(crate) errands: Errands,
    pub(crate) pair: Pair,
    /// Rings when a child of this process, or its parent, has ended.
    pub(crate) bell: Bell,
    pub(crate) alarm: Alarm,
    pub(crate) pause: Pause,
}

impl<'a> Keeper<'a> {
    /// Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub fn new(
        mut job: KeptJob<'a>,
        tools: Tools,
        leader: Leader,
        how: Keeping,
        partner: Partner,
        finding: Finding,
    ) -> Box<Keeper<'a>> {
        let Tools {
            capture,
            input,
            bell,
            indexing,
            signs,
        } = tools;
        let mirror = tools::begin_mirror(&mut job, &capture);
        let signs = SignWatch::new(signs, capture.size());
        let state = job.state();
        // The journal may not say that the job was adopted: the disk was full, or a predecessor died first.
        let adopted = state.kept.as_ref().is_some_and(|kept| kept.adopted)
            || matches!(leader, Leader::Stranger { .. })
            || job.shared.orphaned
            || how == Keeping::Adopted;
        let process = state.phase.last_leader().map(|leader| leader.process);
        // On another host, or after a restart, the leader's pid belongs to another process.
        let process = process.filter(|_| !adopted || host::has_processes_of(state));
        let mut tree = Tree::new(job.shared.directory.path(), process, adopted);
        tree.foreign = foreign(&job);
        tree.is_front = job
            .shared
            .front
            .as_ref()
            .is_some_and(|front| front.is_here());
        let mut keeper = Box::new(Keeper {
            job,
            leader,
            processes: Observed::new(tree),
            output: Output::new(capture, mirror, indexing),
            signs,
            input,
            clients: Clients::default(),
            stop: Stop::None,
            end: End::new(),
            errands: Errands::default(),
            pair: Pair::new(finding),
            bell,
            alarm: Alarm::NeverSet,
            pause: Pause::None,
        });
        let Keeper {
            job, output, signs, ..
        } = &mut *keeper;
        // A predecessor may have died before it copied and indexed what it took. This comes before more is taken.
        output.pass_on(job, signs, false);
        if how == Keeping::Adopted {
            output.look_back(job, signs);
        }
        keeper.pair.set(partner, &mut keeper.processes.tree);
        if keeper.processes.tree.foreign.is_some() {
            // What descends from the leader now is known even if the leader ends first.
            let _ = keeper.processes.tree.found();
        }
        keeper
    }

    /// Keeps the job until nothing of it is left. Returns at once in a standby that it has forked.
    pub fn run(mut self: Box<Self>) -> io::Result<PairRole> {
        let resumed = self.resume();
        self.attempt(Paused::Work, resumed);
        let looked = self.look_at_memory();
        self.attempt(Paused::Work, looked);
        let heeded = self.heed_place();
        self.attempt(Paused::Work, heeded);
        self.job.shared.ring_ready();
        self.job.reach(Hook::Ready);
        loop {
            let settled = self.settle().and_then(|()| self.go_on());
            self.attempt(Paused::Work, settled);
            self.clients
                .tell_news(self.job.state().seq, self.output.capture.size());
            if self.job.is_closed() {
                // The standby has a copy of the socket, and may take a while to end.
                self.job.shared.listener.close();
                self.dismiss_standby();
                return Ok(PairRole::Keeper);
            }
            if let standby @ PairRole::Standby { .. } = self.ensure_standby() {
                return Ok(standby);
            }
            let wakes = self.sleep()?;
            if wakes.contains(&Wake::LeaderEnded) {
                // The time is taken now, before a slow disk can delay it.
                self.end.see(clock::moment);
            }
            for wake in wakes {
                let paused = match wake {
                    Wake::Connection | Wake::Client(_) => Paused::All,
                    _ => Paused::Work,
                };
                let handled = self.handle(wake);
                self.attempt(paused, handled);
            }
        }
    }

    /// Continues what a predecessor left unfinished. Kept out of line, as `begin::begin` is.
    #[inline(never)]
    fn resume(&mut self) -> io::Result<()> {
        self.take_output()?;
        self.deliver()?;
        match self.job.state().phase.clone() {
            Phase::Ended { at, end, .. } => {
                self.job.release_turns();
                errand::end_inherited(&self.job.shared.directory, self.job.shared.orphaned)?;
                // The predecessor may have died before it synced the end.
                self.job.ledger.journal().sync()?;
                let found = Recorded::found(at);
                self.end.found(found.publish(&self.job).ok());
                self.go_on_stopping(end.ended_by)
            }
            Phase::Stopping(_, stop) => self
                .look_at_leader()
                .and_then(|()| self.resume_stop(stop.kill_at)),
            Phase::Backoff { .. } => self.resume_pause(),
            Phase::Unwritten | Phase::Accepted | Phase::Spawned(_) | Phase::Running(_) => {
                self.look_at_leader()
            }
        }
    }

    /// Pauses after a failure, and then retries.
    fn attempt(&mut self, paused: Paused, result: io::Result<()>) {
        if result.is_err() {
            self.pause.begin(paused);
        }
    }

    /// Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub(crate) fn handle(&mut self, wake: Wake) -> io::Result<()> {
        match wake {
            Wake::Output(stream) => {
                self.output.capture.prefer(stream);
                self.take_output()
            }
            Wake::LeaderEnded => self.look_at_leader(),
            Wake::ProcessEnded => self.process_ended(),
            Wake::Room => self.deliver(),
            Wake::Deadline => self.deadline(),
            Wake::OutOfMemory => self.out_of_memory(),
            Wake::Place => self.heed_place(),
            Wake::Connection => {
                let shared = &*self.job.shared;
                self.clients.accept(&shared.listener, shared.max_clients)
            }
            Wake::Client(id) => self.serve(id),
        }
    }

    /// Reaps orphans that have ended, and finds out what that means for the tree. A step that fails does not keep the
    /// others from being done. It is retried after a pause, since these ends are not reported again.
    fn process_ended(&mut self) -> io::Result<()> {
        self.bell.quiet();
        self.pair.look_at_parent(&mut self.processes.tree);
        let standby = self.pair.look_at_standby(&mut self.processes.tree);
        let asked = self.heed_place();
        let leader = self.look_at_leader();
        let children = self.reap_children();
        self.end.look_again();
        standby.and(asked).and(leader).and(children)
    }

    fn reap_children(&mut self) -> io::Result<()> {
        loop {
            match process::any_ended_child() {
                // The leader stays until its end is recorded.
                Ok(Some(pid)) if !self.is_unrecorded_leader(pid) => {
                    let is_known = self.pair.was_standby(pid, &mut self.processes.tree)?
                        || self.was_copying(pid)?
                        || self.is_back(pid)?;
                    if !is_known {
                        process::reap_child(pid)?;
                    }
                }
                // The next one is the leader, or no child has ended.
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }

    /// Children whose exit statuses are read before they are reaped: the leader until its end is recorded, errands,
    /// the standby and the process that copies the output.
    pub(crate) fn unreaped(&self) -> Vec<i32> {
        let leader = self.job.state().phase.leader();
        let leader = leader.map(|leader| leader.process.pid);
        let leader = leader.filter(|pid| self.is_unrecorded_leader(*pid));
        let front = self.job.shared.front.as_ref();
        let copying = front.and_then(|front| front.copying());
        let others = leader.into_iter().chain(self.pair.child());
        self.errands.pids().chain(others).chain(copying).collect()
    }

    fn is_unrecorded_leader(&self, pid: i32) -> bool {
        let leader = self.job.state().phase.leader();
        !self.job.has_ended() && leader.is_some_and(|leader| leader.process.pid == pid)
    }

    fn deadline(&mut self) -> io::Result<()> {
        let now = clock::now();
        // If the end cannot be recorded, everything else is done all the same.
        let recorded = match self.pause.end() {
            true => self.process_ended(),
            false => Ok(()),
        };
        let recorded = recorded.and_then(|()| self.poll_processes(now));
        if self.timeout_at().is_some_and(|at| at <= now) {
            self.time_out()?;
        }
        if self.input.look_at.is_some_and(|at| at <= now) {
            self.look_for_input()?;
        }
        self.notice_time()?;
        self.output.capture.tick(self.job.shared.source(), now);
        self.errands.end_late();
        self.serve_queue()?;
        self.end.look_again();
        recorded
    }

    fn poll_processes(&mut self, now: BootTime) -> io::Result<()> {
        if !self.processes.is_poll_due(now) {
            return Ok(());
        }
        self.end.look_again();
        self.look_at_leader()
    }
}

/// For a job that was made of a process which ran already. A leader's end that nobody saw has no duration.
fn foreign(job: &KeptJob) -> Option<Box<Foreign>> {
    job.spec().adopted.as_ref()?;
    let state = job.state();
    let is_seen = state.end().is_some_and(|end| end.duration_ms.is_some());
    let ended = state.ended_at().filter(|_| is_seen).map(|at| at.boot);
    Some(Box::new(Foreign::new(ended)))
}
