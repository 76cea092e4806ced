//! A process that stops a job for a keeper that is blocked by a slow disk.
//!
//! A stop is journaled before the first signal, so that a successor knows who ended the job. But a frozen disk blocks
//! every writer, and nothing can interrupt that. So before it journals a stop, the keeper forks a guard, which uses no
//! file of the job. After the write the keeper calls the guard off, mostly one millisecond later. A guard that is not
//! called off stops the job itself. It also notes when the leader ended, which the keeper cannot see meanwhile.

use crate::clock;
use crate::start::leader::Leader;
use crate::supervise::escalation::{Escalation, Progress};
use crate::supervise::keeper::Keeper;
use crate::tree::members::Tree;
use outlive_core::event::Moment;
use outlive_core::{BootTime, Input, WallTime};
use outlive_sys::poll::Interest;
use outlive_sys::process::own;
use outlive_sys::process::{self, PidFd};
use outlive_sys::{capture, child};
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

/// A disk that takes longer than this counts as blocked. With a short grace period, the limit is shorter.
const HESITATION: Duration = Duration::from_secs(1);
const LEAST_HESITATION: Duration = Duration::from_millis(200);

/// How often a working guard checks whether anything is left. It is not told when a process ends.
const LOOK: Duration = Duration::from_millis(20);

/// A guard, as its keeper knows it.
#[derive(Debug)]
pub struct Guard {
    pid: i32,
    /// The file in which the guard notes what it has seen and done.
    note: File,
}

impl Guard {
    fn set(tree: &Tree, leader: &Leader, grace: Duration, on_terminal: bool) -> io::Result<Guard> {
        let (note, to_note) = capture::new_pipe()?;
        let keeper = own::pid();
        let kill_at = clock::now() + grace;
        let pid = child::fork(|| {
            if own::die_with_parent(keeper).is_err() {
                return 1;
            }
            let mut watch = Watch {
                to_note: &to_note,
                leader: leader.awaited().and_then(|(leader, interest)| {
                    // If it has ended already, there is no need to wait for it.
                    matches!(interest, Interest::Readable).then_some(leader)
                }),
                has_ended: false,
            };
            watch.hesitate(grace);
            watch.stop(tree, kill_at, on_terminal);
            0
        })?;
        Ok(Guard { pid, note })
    }

    /// Ends the guard. Returns what it has seen and done.
    fn call_off(mut self) -> GuardReport {
        let _ = process::kill_child(self.pid).and_then(|()| process::wait_for_child(self.pid));
        let mut noted = GuardReport::default();
        // Each record is written at once, and the guard writes no more.
        let mut record = [0; RECORD];
        while self.note.read_exact(&mut record).is_ok() {
            let (wall, boot) = record[1..].split_at(8);
            let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
            let at = Moment {
                wall: WallTime::from_ms(number(wall)),
                boot: BootTime::from_ms(number(boot)),
            };
            match record[0] {
                ENDED => noted.ended = Some(at),
                _ => noted.asked_at = Some(at.boot),
            }
        }
        noted
    }
}

/// What a guard has noted.
#[derive(Debug, Default)]
struct GuardReport {
    /// When it saw the leader end.
    ended: Option<Moment>,
    /// When it asked the tree to end.
    asked_at: Option<BootTime>,
}

/// A record is a letter and two times.
const RECORD: usize = 17;
const ENDED: u8 = b'e';
const ASKED: u8 = b'a';

fn write_record(mut to: &File, what: u8) {
    let at = clock::moment();
    let times = [at.wall.ms().to_le_bytes(), at.boot.ms().to_le_bytes()].concat();
    let _ = to.write_all(&[&[what], times.as_slice()].concat());
}

/// What the guard does.
struct Watch<'a> {
    leader: Option<&'a PidFd>,
    /// The leader has ended, and that is noted.
    has_ended: bool,
    to_note: &'a File,
}

impl Watch<'_> {
    /// Waits for at most `limit`, or until the leader ends, which is noted.
    fn wait(&mut self, limit: Duration) {
        let ended = match self.leader.filter(|_| !self.has_ended) {
            Some(leader) => leader.wait_for_end(Some(limit)).unwrap_or(false),
            None => {
                thread::sleep(limit);
                false
            }
        };
        if ended {
            self.has_ended = true;
            write_record(self.to_note, ENDED);
        }
    }

    fn hesitate(&mut self, grace: Duration) {
        let most = HESITATION.min(grace / 2).max(LEAST_HESITATION);
        let until = clock::now() + most;
        while clock::now() < until {
            self.wait(until.since(clock::now()));
        }
    }

    fn stop(&mut self, tree: &Tree, kill_at: BootTime, on_terminal: bool) {
        write_record(self.to_note, ASKED);
        let mut escalation = Escalation::begin(clock::now(), kill_at, on_terminal);
        loop {
            match escalation.advance(tree, clock::now(), &[]) {
                Ok(Progress::Done) if self.has_ended || self.leader.is_none() => return,
                // If the tree cannot be listed now, this is tried again.
                Ok(_) | Err(_) => self.wait(LOOK),
            }
        }
    }
}

impl Keeper<'_> {
    /// Starts a guard if there is something to stop. If none can be forked, the job is stopped without one.
    pub(crate) fn set_guard(&mut self, grace: Duration) -> Option<Guard> {
        if !self.job.is_running() || self.stop.is_under_way() {
            return None;
        }
        let on_terminal = matches!(self.job.spec().input, Input::Pty(_));
        let guard = Guard::set(&self.processes.tree, &self.leader, grace, on_terminal).ok();
        self.processes.tree.guard = guard.as_ref().map(|guard| guard.pid);
        guard
    }

    /// Ends the guard, after the disk has accepted or refused the write. Returns when the guard asked the tree to end,
    /// if it did (boot time).
    pub(crate) fn call_off(&mut self, guard: Option<Guard>) -> Option<BootTime> {
        self.processes.tree.guard = None;
        let noted = guard.map(Guard::call_off)?;
        if let Some(at) = noted.ended {
            self.end.see(|| at);
        }
        noted.asked_at
    }
}
