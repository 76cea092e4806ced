//! Polling for the end of processes that the kernel does not report.
//!
//! This is needed only on kernels without pidfds, and there only for processes that are not children of this keeper:
//! those of an adopted job, or of a job whose keeper was a child of the one before it.

use crate::supervise::keeper::Keeper;
use crate::supervise::tail::Tail;
use outlive_sys::clock;
use std::io;

/// When they are looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// In milliseconds since boot.
    pub at: u64,
    pause_ms: u64,
}

const FIRST_PAUSE_MS: u64 = 10;
const LONGEST_PAUSE_MS: u64 = 1000;

impl Rounds {
    fn begin(now: u64) -> Rounds {
        Rounds {
            at: now + FIRST_PAUSE_MS,
            pause_ms: FIRST_PAUSE_MS,
        }
    }

    fn go_on(self, now: u64) -> Rounds {
        let pause_ms = LONGEST_PAUSE_MS.min(self.pause_ms * 2);
        Rounds {
            at: now + pause_ms,
            pause_ms,
        }
    }
}

impl Keeper<'_> {
    /// Before this keeper sleeps: whether there is anything to look at by itself.
    pub(crate) fn begin_rounds(&mut self) {
        let runs = self.state().end().is_none();
        let unheard = runs && self.leader.ends_unheard()
            || self
                .watched
                .iter()
                .any(|member| member.pidfd.bell().is_none());
        self.rounds = match unheard {
            true => Some(
                self.rounds
                    .unwrap_or_else(|| Rounds::begin(clock::boot_ms())),
            ),
            false => None,
        };
    }

    /// Looks, if it is time.
    pub(crate) fn go_round(&mut self, now: u64) -> io::Result<()> {
        match self.rounds {
            Some(rounds) if rounds.at <= now => {
                self.rounds = Some(rounds.go_on(now));
                self.tail = Tail::Unknown;
                self.look_at_leader()
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_second() {
        let mut rounds = Rounds::begin(0);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let now = rounds.at;
            rounds = rounds.go_on(now);
            pauses.push(rounds.at - now);
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    }
}
