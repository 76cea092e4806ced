//! A process that stops a job for a keeper that is held up by its disk.
//!
//! A stop is written down before the first signal, so that whoever takes over knows who ended the job. But a frozen
//! disk holds up whoever writes to it, for as long as it likes, and nothing can interrupt that. So before a keeper
//! writes a stop down it forks a guard, which never touches the disk, and calls it off when that is done: a
//! millisecond later, mostly. A guard that is not called off stops the job itself. It also notes when the leader
//! ended, which the keeper cannot see meanwhile.

use crate::escalation::{Escalation, Progress};
use crate::keeper::Keeper;
use crate::leader::Leader;
use crate::ledger::now;
use crate::tree::Tree;
use outlive_core::event::Moment;
use outlive_core::{Input, Phase};
use outlive_sys::pidfd::{self, PidFd};
use outlive_sys::poll::Interest;
use outlive_sys::{child, clock, own, pipe};
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

/// How long a disk may take before it counts as one that holds up its writers; with a short grace, less.
const HESITATION_MS: u64 = 1000;
const LEAST_HESITATION_MS: u64 = 200;

/// How often a guard at work looks whether anything is left: it is not told when a process ends.
const LOOK: Duration = Duration::from_millis(20);

/// A guard that was set, as its keeper knows it.
#[derive(Debug)]
pub struct Guard {
    pid: i32,
    /// Where it writes when the leader ended.
    note: File,
}

impl Guard {
    fn set(tree: &Tree, leader: &Leader, grace_ms: u64, on_terminal: bool) -> io::Result<Guard> {
        let (note, mut to_note) = pipe::new_pipe()?;
        let keeper = own::pid();
        let kill_at = clock::boot_ms().saturating_add(grace_ms);
        let pid = child::fork(|| {
            if own::die_with_parent(keeper).is_err() {
                return 1;
            }
            let mut watch = Watch {
                leader: leader.awaited().and_then(|(leader, interest)| {
                    // One that has ended already is not waited for.
                    matches!(interest, Interest::Readable).then_some(leader)
                }),
                note: Some(&mut to_note),
            };
            watch.hesitate(grace_ms);
            watch.stop(tree, kill_at, on_terminal);
            0
        })?;
        Ok(Guard { pid, note })
    }

    /// Ends it; says when it saw the leader end, if it did.
    fn call_off(mut self) -> Option<Moment> {
        let _ = pidfd::kill_child(self.pid).and_then(|()| pidfd::wait_for_child(self.pid));
        let (mut wall_ms, mut boot_ms) = ([0; 8], [0; 8]);
        // Both are there or none is, and nobody writes any more.
        self.note.read_exact(&mut wall_ms).ok()?;
        self.note.read_exact(&mut boot_ms).ok()?;
        Some(Moment {
            wall_ms: u64::from_le_bytes(wall_ms),
            boot_ms: u64::from_le_bytes(boot_ms),
        })
    }
}

/// What the guard does.
struct Watch<'a> {
    leader: Option<&'a PidFd>,
    /// Until it is written.
    note: Option<&'a mut File>,
}

impl Watch<'_> {
    /// Waits for a moment, or until the leader ends, of which a note is made.
    fn wait(&mut self, limit: Duration) {
        let ended = match self.leader.filter(|_| self.note.is_some()) {
            Some(leader) => leader.wait_for_end(Some(limit)).unwrap_or(false),
            None => {
                thread::sleep(limit);
                false
            }
        };
        if let Some(note) = self.note.take_if(|_| ended) {
            let at = now();
            let _ = note.write_all(&[at.wall_ms.to_le_bytes(), at.boot_ms.to_le_bytes()].concat());
        }
    }

    fn hesitate(&mut self, grace_ms: u64) {
        let most = HESITATION_MS.min(grace_ms / 2).max(LEAST_HESITATION_MS);
        let until = clock::boot_ms() + most;
        while clock::boot_ms() < until {
            self.wait(Duration::from_millis(until - clock::boot_ms().min(until)));
        }
    }

    fn stop(&mut self, tree: &Tree, kill_at: u64, on_terminal: bool) {
        let mut escalation = Escalation::begin(clock::boot_ms(), kill_at, on_terminal);
        loop {
            match escalation.advance(tree, clock::boot_ms(), &[]) {
                Ok(Progress::Done) if self.note.is_none() || self.leader.is_none() => return,
                // Where the tree cannot be listed now, it is tried again.
                Ok(_) | Err(_) => self.wait(LOOK),
            }
        }
    }
}

impl Keeper<'_> {
    /// Sets a guard if there is something to stop. A system that has no process to spare is no reason not to stop.
    pub(crate) fn set_guard(&mut self, grace_ms: u64) -> Option<Guard> {
        let runs = matches!(self.state().phase, Phase::Running(_));
        if !runs || self.escalation.is_some() {
            return None;
        }
        let on_terminal = matches!(self.shared.spec.input, Input::Pty(_));
        let guard = Guard::set(&self.tree, &self.leader, grace_ms, on_terminal).ok();
        self.tree.guard = guard.as_ref().map(|guard| guard.pid);
        guard
    }

    /// The disk has taken what was to be written, or refused it.
    pub(crate) fn call_off(&mut self, guard: Option<Guard>) {
        self.tree.guard = None;
        if let Some(at) = guard.and_then(Guard::call_off) {
            self.end_seen.get_or_insert(at);
        }
    }
}
