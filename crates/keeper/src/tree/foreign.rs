//! The processes of a job that was made of a process which ran already (`outlive adopt`).
//!
//! They have no mark, and no keeper is their subreaper. The job's are: the leader, its descendants, the process group
//! and the session that it leads, and whatever was found in these ways before. A process that left all of them before
//! a keeper looked cannot be found, and adoption says so.
//!
//! Once the leader is gone, its number may be reused, and name another group. A number is not reused while its group
//! has a process in it. So a process of the group or session counts if it is older than the leader's end, and that
//! end was seen when it happened.

use outlive_core::{BootTime, ProcRef};
use outlive_sys::process::{self, Stat};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;

/// What a keeper knows about such processes.
#[derive(Debug, Default)]
pub struct Foreign {
    /// Those found so far, as far as they still run.
    known: RefCell<HashSet<ProcRef>>,
    /// When the leader ended, if a keeper saw it.
    ended: Cell<Option<BootTime>>,
}

impl Foreign {
    /// For a leader whose end was seen at this time, or that has not ended as far as anybody knows.
    pub fn new(ended: Option<BootTime>) -> Foreign {
        Foreign {
            known: RefCell::default(),
            ended: Cell::new(ended),
        }
    }

    /// The leader was just seen to end.
    pub fn leader_ended(&self, at: BootTime) {
        self.ended.set(Some(at));
    }

    /// Remembers what a walk has found, and forgets what is gone.
    pub fn remember(&self, found: &HashSet<ProcRef>) {
        let mut known = self.known.borrow_mut();
        known.retain(|process| runs(*process));
        known.extend(found);
    }

    /// Whether this process belongs to the job, apart from being a descendant of one that does.
    pub fn has(&self, pid: i32, leader: ProcRef) -> io::Result<bool> {
        let Some(stat) = process::look(pid)? else {
            return Ok(false);
        };
        let started = stat.started;
        let this = ProcRef { pid, started };
        if this == leader || self.known.borrow().contains(&this) {
            return Ok(true);
        }
        if !is_led_by(&stat, leader.pid) {
            return Ok(false);
        }
        let number = process::look(leader.pid)?.map(|stat| stat.started);
        Ok(self.is_of_leader(started, number, leader))
    }

    /// Whether a group or session with the leader's number is the leader's. `number` is the start time of the process
    /// that has the number now.
    fn is_of_leader(&self, started: u64, number: Option<u64>, leader: ProcRef) -> bool {
        match (number, self.ended.get()) {
            (Some(now), _) if now != leader.started => false,
            (Some(_), _) => true,
            (None, Some(ended)) => started <= ended.ms() / MS_PER_TICK,
            (None, None) => false,
        }
    }
}

/// The kernel counts start times in hundredths of a second, whatever the rate of its own clock is.
const MS_PER_TICK: u64 = 10;

fn is_led_by(stat: &Stat, leader: i32) -> bool {
    stat.group == leader || stat.session == leader
}

fn runs(process: ProcRef) -> bool {
    process::stat(process.pid)
        .is_some_and(|stat| stat.started == process.started && !stat.is_zombie())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEADER: ProcRef = ProcRef {
        pid: 7,
        started: 100,
    };

    #[test]
    fn a_group_whose_number_may_be_reused_is_not_taken_for_the_leaders() {
        let seen = || Foreign::new(Some(BootTime::from_ms(2000)));
        let unseen = || Foreign::new(None);
        for (what, foreign, started, number, expected) in [
            ("the leader runs", unseen(), 900, Some(100), true),
            ("another has the number", seen(), 150, Some(300), false),
            ("older than the end", seen(), 150, None, true),
            ("younger than the end", seen(), 201, None, false),
            ("nobody saw the end", unseen(), 150, None, false),
        ] {
            let is = foreign.is_of_leader(started, number, LEADER);
            assert_eq!(is, expected, "{what}");
        }
    }
}
