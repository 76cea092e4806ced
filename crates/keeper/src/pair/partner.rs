//! The keeper's partner: the standby that takes over if the keeper dies, and making a new one when it is gone.
//!
//! A keeper whose standby has died forks another at once. The new standby inherits every descriptor that cannot be
//! opened again (`shared.rs`) and a pidfd of the leader. Linux 6.15 and later report the leader's exit status through
//! that pidfd, although the standby is not its parent.

use crate::clock;
use crate::hooks::Hook;
use crate::start::findable::Finding;
use crate::start::leader::Leader;
use crate::start::tools;
use crate::supervise::keeper::Keeper;
use crate::tree::members::Tree;
use outlive_core::BootTime;
use outlive_core::event::Event;
use outlive_sys::child::{self, Forked};
use outlive_sys::process;
use outlive_sys::process::own;
use std::io;
use std::time::Duration;

/// The other process of the pair, as the keeper knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// The process that forked this one.
    Parent(i32),
    /// A process that this one forked.
    Child {
        pid: i32,
        since: BootTime,
        /// It has a descriptor of the leader, because there was a leader when it was forked.
        knows_leader: bool,
    },
    /// There is none. The next one is forked at this time.
    Alone { until: BootTime },
}

/// What this process is after a standby was or was not forked.
#[derive(Debug)]
pub enum PairRole {
    Keeper,
    /// The new standby of the keeper with this pid.
    Standby {
        of: i32,
        finding: Finding,
    },
}

/// How long to wait before a process that died young is replaced.
///
/// Something may kill each new process at once. Without a pause, the pair would then fork as fast as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    /// How many in a row lived for less than [`YOUNG`].
    young: u32,
}

const YOUNG: Duration = Duration::from_secs(1);
/// This many are replaced without a pause, because somebody who kills both processes on purpose does it quickly.
const AT_ONCE: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(125);
/// Verbs wait for a keeper for some seconds, so a keeper that takes over after this pause still answers them.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Backoff {
    /// A process has died after it lived this long. Returns how long to wait before it is replaced.
    pub fn after(&mut self, lived: Duration) -> Duration {
        if lived >= YOUNG {
            self.young = 0;
            return Duration::ZERO;
        }
        self.young = self.young.saturating_add(1);
        match self.young.checked_sub(AT_ONCE) {
            None | Some(0) => Duration::ZERO,
            Some(more) => (FIRST_PAUSE * (1 << more.min(16))).min(LONGEST_PAUSE),
        }
    }
}

impl Partner {
    /// The partner of a keeper that its standby has just forked. If the standby is gone already, there is none.
    pub fn of_parent(parent: i32) -> Partner {
        match own::hear_of_parent(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Partner::NOBODY,
            // If the kernel cannot report its end, it is assumed to live.
            _ => Partner::Parent(parent),
        }
    }

    /// No standby can be forked now. The next try is after a pause.
    pub fn alone_for_a_while() -> Partner {
        Partner::Alone {
            until: clock::now() + FIRST_PAUSE,
        }
    }

    /// There is no standby yet. One is forked at once.
    pub const NOBODY: Partner = Partner::Alone {
        until: BootTime::from_ms(0),
    };

    pub fn pid(self) -> Option<i32> {
        match self {
            Partner::Parent(pid) | Partner::Child { pid, .. } => Some(pid),
            Partner::Alone { .. } => None,
        }
    }

    /// The partner, if it is a child of this process.
    pub fn child(self) -> Option<i32> {
        match self {
            Partner::Child { pid, .. } => Some(pid),
            Partner::Parent(_) | Partner::Alone { .. } => None,
        }
    }

    /// When another standby is to be forked.
    pub fn due_at(self) -> Option<BootTime> {
        match self {
            Partner::Alone { until } => Some(until),
            Partner::Parent(_) | Partner::Child { .. } => None,
        }
    }
}

/// What a keeper knows about the pair.
#[derive(Debug)]
pub(crate) struct Pair {
    partner: Partner,
    /// How long the standbys lived that this keeper forked.
    backoff: Backoff,
    pub finding: Finding,
}

impl Pair {
    pub fn new(finding: Finding) -> Pair {
        Pair {
            partner: Partner::NOBODY,
            backoff: Backoff::default(),
            finding,
        }
    }

    /// The standby, if it is a child of this process.
    pub fn child(&self) -> Option<i32> {
        self.partner.child()
    }

    /// When another standby is to be forked.
    pub fn due_at(&self) -> Option<BootTime> {
        self.partner.due_at()
    }

    pub fn set(&mut self, partner: Partner, tree: &mut Tree) {
        self.partner = partner;
        tree.partner = partner.pid();
    }

    /// Notices that the parent has ended, if it was the standby.
    pub fn look_at_parent(&mut self, tree: &mut Tree) {
        if let Partner::Parent(pid) = self.partner
            && own::parent_pid() != Some(pid)
        {
            self.set(Partner::NOBODY, tree);
        }
    }

    /// Notices that a standby which this process has forked has ended. It is asked about directly, so that another
    /// ended child which cannot be handled now does not get in the way.
    pub fn look_at_standby(&mut self, tree: &mut Tree) -> io::Result<()> {
        match self.child() {
            Some(pid) if process::has_child_ended(pid)? => self.was_standby(pid, tree).map(drop),
            _ => Ok(()),
        }
    }

    /// Whether this ended child was the standby. If so, it is reaped.
    pub fn was_standby(&mut self, pid: i32, tree: &mut Tree) -> io::Result<bool> {
        match self.partner {
            Partner::Child {
                pid: standby,
                since,
                ..
            } if standby == pid => {
                process::reap_child(pid)?;
                let now = clock::now();
                let until = now + self.backoff.after(now.since(since));
                self.set(Partner::Alone { until }, tree);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether a standby must be forked now. A standby that was forked before there was a leader is killed and
    /// replaced, because it could not learn how the leader ends.
    fn needs_standby(&self, has_leader: bool) -> bool {
        match self.partner {
            Partner::Alone { until } => until <= clock::now(),
            Partner::Child {
                pid,
                knows_leader: false,
                ..
            } if has_leader => {
                let _ = process::kill_child(pid).and_then(|()| process::wait_for_child(pid));
                true
            }
            Partner::Child { .. } | Partner::Parent(_) => false,
        }
    }

    /// Another attempt has another leader, which a standby that was forked before does not know.
    pub fn has_new_leader(&mut self) {
        if let Partner::Child { knows_leader, .. } = &mut self.partner {
            *knows_leader = false;
        }
    }

    /// A standby could not be forked, for lack of memory or processes. This counts like one that died at once.
    fn could_not_fork(&mut self, now: BootTime, tree: &mut Tree) {
        let until = now + self.backoff.after(Duration::ZERO).max(FIRST_PAUSE);
        self.set(Partner::Alone { until }, tree);
    }
}

impl Keeper<'_> {
    /// Makes a new standby if there is none. Returns in both processes.
    pub(crate) fn ensure_standby(&mut self) -> PairRole {
        let has_leader = self.leader.awaited().is_some();
        if !self.pair.needs_standby(has_leader) {
            return PairRole::Keeper;
        }
        let now = clock::now();
        let keeper = own::pid();
        let forked = child::fork_here();
        let tree = &mut self.processes.tree;
        let pid = match forked {
            Ok(Forked::Parent(pid)) => pid,
            Ok(Forked::Child) => return self.become_standby(keeper),
            Err(_) => {
                self.pair.could_not_fork(now, tree);
                return PairRole::Keeper;
            }
        };
        let standby = Partner::Child {
            pid,
            since: now,
            knows_leader: has_leader,
        };
        self.pair.set(standby, tree);
        // The journal names the standby for information only, so a full disk must not stop the keeper here.
        let _ = tools::identify(pid)
            .and_then(|standby| self.job.ledger.write(&[Event::NewStandby { standby }]));
        self.job.reach(Hook::NewStandby);
        PairRole::Keeper
    }

    /// In the new process: keeps the leader's descriptor. Everything else that belongs to the keeper alone, such as
    /// its connections, is closed when this copy of the keeper is dropped.
    fn become_standby(&mut self, keeper: i32) -> PairRole {
        // Leave the keeper's session: somebody may send a signal to all of it.
        let _ = own::new_session();
        let process = self.job.state().phase.leader().map(|leader| leader.process);
        let leader = std::mem::replace(&mut self.leader, Leader::Waiting(None));
        self.job.shared.leader = process.zip(leader.into_pidfd());
        PairRole::Standby {
            of: keeper,
            finding: self.pair.finding.known(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_processes_die_young() {
        let mut backoff = Backoff::default();
        let lived = YOUNG - Duration::from_millis(1);
        let pauses: Vec<u128> = (0..12).map(|_| backoff.after(lived).as_millis()).collect();
        assert_eq!(
            pauses,
            [0, 0, 0, 250, 500, 1000, 1000, 1000, 1000, 1000, 1000, 1000]
        );
    }

    #[test]
    fn a_process_that_lived_long_is_replaced_at_once_and_resets_the_count() {
        let mut backoff = Backoff::default();
        let last = (0..9).map(|_| backoff.after(Duration::ZERO)).last();
        assert_eq!(last, Some(LONGEST_PAUSE));
        assert_eq!(backoff.after(YOUNG), Duration::ZERO);
        assert_eq!(backoff.after(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn the_largest_count_has_the_longest_pause() {
        let mut backoff = Backoff { young: u32::MAX };
        assert_eq!(backoff.after(Duration::ZERO), LONGEST_PAUSE);
    }
}
