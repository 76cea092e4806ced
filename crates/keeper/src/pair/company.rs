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

/// The other process of the pair, as the keeper at work knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// The process that has forked this one.
    Parent(i32),
    /// A process that this one has forked.
    Child {
        pid: i32,
        since: BootTime,
        /// It has a descriptor of the leader: there was one when it was forked.
        knows_leader: bool,
    },
    /// There is none. The next one is made at this time.
    Alone { until: BootTime },
}

/// Which process this is after a standby was made, or was not.
#[derive(Debug)]
pub enum Which {
    Keeper,
    /// The new standby, of the keeper with this pid.
    Standby {
        of: i32,
        finding: Finding,
    },
}

/// How long to wait before a process that died young is replaced.
///
/// Something may kill every one of them as soon as it begins, and would else have the pair fork as fast as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Haste {
    /// How many in a row lived less than [`YOUNG`].
    young: u32,
}

const YOUNG: Duration = Duration::from_secs(1);
/// The first few are replaced at once: whoever kills both on purpose does so quickly.
const AT_ONCE: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(125);
/// Verbs wait for a keeper some seconds: one that takes over after this pause still answers them.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Haste {
    /// One has died after having lived this long: says how long to wait before the next begins.
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

impl Company {
    /// Right after this process was forked by its standby. One that is gone already is none.
    pub fn of_parent(parent: i32) -> Company {
        match own::hear_of_parent(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Company::NOBODY,
            // Where the kernel does not tell of its end, it is believed to live, as it mostly does.
            _ => Company::Parent(parent),
        }
    }

    /// None could be made just now.
    pub fn alone_for_a_while() -> Company {
        Company::Alone {
            until: clock::now() + FIRST_PAUSE,
        }
    }

    /// Nobody yet.
    pub const NOBODY: Company = Company::Alone {
        until: BootTime::from_ms(0),
    };

    pub fn pid(self) -> Option<i32> {
        match self {
            Company::Parent(pid) | Company::Child { pid, .. } => Some(pid),
            Company::Alone { .. } => None,
        }
    }

    /// The partner, if this process has to wait for it.
    pub fn child(self) -> Option<i32> {
        match self {
            Company::Child { pid, .. } => Some(pid),
            Company::Parent(_) | Company::Alone { .. } => None,
        }
    }

    /// When another standby is to be made.
    pub fn due_at(self) -> Option<BootTime> {
        match self {
            Company::Alone { until } => Some(until),
            Company::Parent(_) | Company::Child { .. } => None,
        }
    }
}

/// What a keeper knows about the pair.
#[derive(Debug)]
pub(crate) struct Pair {
    company: Company,
    /// How the standbys that this keeper has forked have fared.
    haste: Haste,
    pub finding: Finding,
}

impl Pair {
    pub fn new(finding: Finding) -> Pair {
        Pair {
            company: Company::NOBODY,
            haste: Haste::default(),
            finding,
        }
    }

    /// The standby, if this process has to wait for it.
    pub fn child(&self) -> Option<i32> {
        self.company.child()
    }

    /// When another standby is to be made.
    pub fn due_at(&self) -> Option<BootTime> {
        self.company.due_at()
    }

    pub fn set(&mut self, company: Company, tree: &mut Tree) {
        self.company = company;
        tree.partner = company.pid();
    }

    /// Notices that the parent has ended, if it was the standby.
    pub fn look_at_parent(&mut self, tree: &mut Tree) {
        if let Company::Parent(pid) = self.company
            && own::parent_pid() != Some(pid)
        {
            self.set(Company::NOBODY, tree);
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
        match self.company {
            Company::Child {
                pid: standby,
                since,
                ..
            } if standby == pid => {
                process::reap_child(pid)?;
                let now = clock::now();
                let until = now + self.haste.after(now.since(since));
                self.set(Company::Alone { until }, tree);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether a standby is to be forked now. One that was forked before there was a leader is killed and replaced:
    /// it could not learn how the leader ends.
    fn needs_standby(&self, has_leader: bool) -> bool {
        match self.company {
            Company::Alone { until } => until <= clock::now(),
            Company::Child {
                pid,
                knows_leader: false,
                ..
            } if has_leader => {
                let _ = process::kill_child(pid).and_then(|()| process::wait_for_child(pid));
                true
            }
            Company::Child { .. } | Company::Parent(_) => false,
        }
    }

    /// No process or memory could be had for a standby. This counts as if it had died at once.
    fn could_not_fork(&mut self, now: BootTime, tree: &mut Tree) {
        let until = now + self.haste.after(Duration::ZERO).max(FIRST_PAUSE);
        self.set(Company::Alone { until }, tree);
    }
}

impl Keeper<'_> {
    /// Makes a new standby if there is none. Returns in both processes.
    pub(crate) fn find_company(&mut self) -> Which {
        let has_leader = self.leader.awaited().is_some();
        if !self.pair.needs_standby(has_leader) {
            return Which::Keeper;
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
                return Which::Keeper;
            }
        };
        let standby = Company::Child {
            pid,
            since: now,
            knows_leader: has_leader,
        };
        self.pair.set(standby, tree);
        // The journal names the standby for information only, so a full disk must not stop the keeper here.
        let _ = tools::identify(pid)
            .and_then(|standby| self.job.ledger.write(&[Event::NewStandby { standby }]));
        self.job.reach(Hook::NewStandby);
        Which::Keeper
    }

    /// In the new process: keeps the leader's descriptor. Everything else that belongs to the keeper alone, such as
    /// its connections, is closed when this copy of the keeper is dropped.
    fn become_standby(&mut self, keeper: i32) -> Which {
        // Leave the keeper's session: somebody may send a signal to all of it.
        let _ = own::new_session();
        let process = self.job.state().phase.leader().map(|leader| leader.process);
        let leader = std::mem::replace(&mut self.leader, Leader::Waiting(None));
        self.job.shared.leader = process.zip(leader.into_pidfd());
        Which::Standby {
            of: keeper,
            finding: self.pair.finding.known(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_die_young_are_replaced_more_and_more_slowly() {
        let mut haste = Haste::default();
        let lived = YOUNG - Duration::from_millis(1);
        let pauses: Vec<u128> = (0..12).map(|_| haste.after(lived).as_millis()).collect();
        assert_eq!(
            pauses,
            [0, 0, 0, 250, 500, 1000, 1000, 1000, 1000, 1000, 1000, 1000]
        );
    }

    #[test]
    fn one_that_lived_long_is_replaced_at_once_and_the_count_begins_anew() {
        let mut haste = Haste::default();
        let last = (0..9).map(|_| haste.after(Duration::ZERO)).last();
        assert_eq!(last, Some(LONGEST_PAUSE));
        assert_eq!(haste.after(YOUNG), Duration::ZERO);
        assert_eq!(haste.after(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_count_of_any_size_has_a_pause() {
        let mut haste = Haste { young: u32::MAX };
        assert_eq!(haste.after(Duration::ZERO), LONGEST_PAUSE);
    }
}
