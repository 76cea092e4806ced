//! Ending the tree: TERM, the grace period, then KILL until no process is left.
//!
//! ```text
//! begin ─TERM, CONT─► Asking ─grace over─► Killing ─none left─► done
//!                         └──────none left───────────────────────►
//! ```
//! Nothing here waits: the keeper calls [`Escalation::advance`] when a process of the tree has ended, or at the deadline.
//! A process with a pending KILL cannot fork any more. So searching again until nothing new is found catches every one.
//! Processes of another user cannot be signalled. Once only those are left, the stop is over and says so. That none is
//! left is believed only if the walk is sure of it (`walk.rs`).

use crate::tree::members::{self, Member, Members, Tree};
use crate::tree::walk::Sure;
use outlive_core::signal::Signal;
use outlive_core::{BootTime, ProcRef};
use outlive_sys::process::{self, Delivered};
use std::collections::HashSet;
use std::io;
use std::time::Duration;

/// A stop under way.
#[derive(Debug)]
pub struct Escalation {
    step: Step,
    begun: BootTime,
    /// Another process (a guard) has asked the tree to end.
    asked_before: bool,
    /// The job has a terminal.
    on_terminal: bool,
    /// When the tree was last looked at.
    looked: BootTime,
    rest_until: BootTime,
    /// The processes that got this step's signal.
    sent: HashSet<ProcRef>,
    denied: HashSet<ProcRef>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Asking { kill_at: BootTime },
    Killing,
}

/// Whether a stop is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    UnderWay,
    Done,
}

/// The kernel counts start times in hundredths of a second, whatever the rate of its own clock is.
const MS_PER_TICK: u64 = 10;

const LOOK_AGAIN: Duration = Duration::from_millis(500);

const REST: Duration = Duration::from_millis(20);

/// At most this many sweeps. Thirty chains of processes, each of which forks and ends every two milliseconds, are
/// caught within a few.
const SWEEPS: usize = 32;

impl Escalation {
    /// Asks the tree to end. Processes that still run at `kill_at` (boot time) are killed.
    pub fn begin(now: BootTime, kill_at: BootTime, on_terminal: bool) -> Escalation {
        Escalation {
            on_terminal,
            step: Step::Asking { kill_at },
            begun: now,
            asked_before: false,
            looked: now,
            rest_until: now,
            sent: HashSet::new(),
            denied: HashSet::new(),
        }
    }

    /// The same, but another process has asked the tree to end at `asked`. No process is asked twice.
    pub fn asked_before(asked: BootTime, kill_at: BootTime) -> Escalation {
        Escalation {
            asked_before: true,
            ..Escalation::begin(asked, kill_at, false)
        }
    }

    /// A second request can only bring the KILL forward.
    pub fn hurry(&mut self, kill_at: BootTime) {
        if let Step::Asking { kill_at: current } = &mut self.step {
            *current = kill_at.min(*current);
        }
    }

    /// When the tree must be looked at again, if nothing else happens.
    pub fn deadline(&self) -> Option<BootTime> {
        match self.step {
            _ if self.rest_until > self.looked => Some(self.rest_until),
            Step::Asking { kill_at } => Some(kill_at),
            // A process that cannot be signalled may be the parent of one that was killed. Then nothing reports when
            // the killed one has ended.
            Step::Killing if !self.denied.is_empty() => Some(self.looked + LOOK_AGAIN),
            Step::Killing => None,
        }
    }

    /// Whether the keeper should not look before [`Escalation::deadline`]: the tree changes faster than it can be
    /// searched. The keeper reaps ended processes meanwhile.
    pub fn rests(&self, now: BootTime) -> bool {
        now < self.rest_until
    }

    /// Does what is due at `now` (boot time).
    ///
    /// Ended children of the keeper that are in `spare` are not reaped.
    pub fn advance(&mut self, tree: &Tree, now: BootTime, spare: &[i32]) -> io::Result<Progress> {
        if let Step::Asking { kill_at } = self.step
            && kill_at <= now
        {
            self.step = Step::Killing;
            self.sent.clear();
        }
        self.looked = now;
        if self.step == Step::Killing && tree.is_own() {
            // Processes that are found more than once are slow to end. They are waited for below.
            for _ in 0..SWEEPS {
                if tree.kill_on_sight(spare)? == 0 {
                    break;
                }
            }
        }
        for round in 1.. {
            let Members { list, sure } = tree.found()?;
            let is_denied = |member: &Member| self.denied.contains(&member.process);
            match (list.iter().all(is_denied), sure) {
                (true, Sure::Yes) => return Ok(Progress::Done),
                // Some may have been missed, and nothing reports the ends of these.
                (true, Sure::No) => return Err(members::unsure()),
                (false, _) if self.signal_new(&list)? && !self.may_rest(tree, round) => {}
                (false, Sure::Yes) => return Ok(Progress::UnderWay),
                (false, Sure::No) => {
                    self.rest_until = now + REST;
                    return Ok(Progress::UnderWay);
                }
            }
        }
        unreachable!("it returns after some round")
    }

    /// Whether to continue later, when some killed processes have ended, of which the keeper is told. It reaps them in
    /// between. Otherwise a tree that forks and dies as fast as it is searched would fill the machine with zombies,
    /// and each search would take longer than the one before.
    fn may_rest(&self, tree: &Tree, round: u32) -> bool {
        const ROUNDS: u32 = 8;
        self.step == Step::Killing && tree.is_own() && round >= ROUNDS
    }

    /// Signals the processes that have not got this step's signal. Returns whether there were any.
    fn signal_new(&mut self, members: &[Member]) -> io::Result<bool> {
        if self.asked_before && matches!(self.step, Step::Asking { .. }) {
            return Ok(false);
        }
        let first_look = self.sent.is_empty();
        let mut any = false;
        for member in members {
            let spared = !first_look && self.is_cleaning_up(member);
            if spared || !self.sent.insert(member.process) {
                continue;
            }
            any = true;
            if self.signal(member)? == Delivered::Denied {
                self.denied.insert(member.process);
            }
        }
        Ok(any)
    }

    /// Whether a process was started after the tree was asked to end. Such a process probably cleans up, so it is left
    /// alone until the KILL.
    fn is_cleaning_up(&self, member: &Member) -> bool {
        let since_asked = member.process.started >= self.begun.ms() / MS_PER_TICK;
        matches!(self.step, Step::Asking { .. }) && since_asked
    }

    fn signal(&self, member: &Member) -> io::Result<Delivered> {
        match self.step {
            Step::Asking { .. } => {
                // An interactive shell ignores TERM, and ends when its terminal is closed.
                let pid = member.process.pid;
                let hangs_up =
                    self.on_terminal && process::ignores(pid, Signal::TERM.linux_number());
                let asks = if hangs_up { Signal::HUP } else { Signal::TERM };
                let delivered = member.pidfd.signal(asks.linux_number())?;
                // A stopped process handles the signal only when it is continued.
                member.pidfd.signal(Signal::CONT.linux_number())?;
                Ok(delivered)
            }
            Step::Killing => member.pidfd.signal(Signal::KILL.linux_number()),
        }
    }
}
