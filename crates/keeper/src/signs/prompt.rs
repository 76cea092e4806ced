//! When to check whether the job waits for input, so that somebody can be told.
//!
//! The kernel says what a process is blocked in, but does not report when that begins. So the job is checked soon after
//! each sign of life, then a few times more, and then not again until the next sign of life.

use outlive_core::{BootTime, Millis};
use std::time::Duration;

/// When the job is checked, counted from its last sign of life.
const LOOKS: [Millis; 4] = [Millis(300), Millis(1_000), Millis(5_000), Millis(30_000)];
/// A client that has just written to the job knows that it reads input. For this long after a write, no prompt is
/// reported.
const TALKING: Duration = Duration::from_secs(15);

/// The search for one job's prompts.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    /// The number of checks since the last sign of life, and the time of that sign.
    looks: usize,
    alive: BootTime,
    /// A client has written to the job, so no check is made before this time.
    talking: BootTime,
    /// How much output and input there was when a prompt was reported.
    told: Option<(u64, u64)>,
}

impl Prompt {
    pub fn begin(now: BootTime, told: Option<(u64, u64)>) -> Prompt {
        Prompt {
            looks: 0,
            alive: now,
            talking: BootTime::default(),
            told,
        }
    }

    /// A sign of life: the job has written something or was started.
    pub fn is_alive(&mut self, now: BootTime) {
        self.looks = 0;
        self.alive = now;
    }

    /// A client has written to the job.
    pub fn is_talked_to(&mut self, now: BootTime) {
        self.talking = now + TALKING;
        self.is_alive(now);
    }

    pub fn look_at(&self) -> Option<BootTime> {
        let after = LOOKS.get(self.looks)?;
        Some((self.alive + *after).max(self.talking))
    }

    /// The job was checked, and waits for input or does not. Returns whether that is news. `size` and `accepted` say
    /// how much output and input there was.
    pub fn looked(&mut self, awaits: bool, size: u64, accepted: u64) -> bool {
        self.looks = match awaits {
            true => LOOKS.len(),
            false => self.looks + 1,
        };
        let new = awaits && self.told != Some((size, accepted));
        if new {
            self.told = Some((size, accepted));
        }
        new
    }

    pub fn told(&self) -> Option<(u64, u64)> {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> BootTime {
        BootTime::from_ms(ms)
    }

    #[test]
    fn a_prompt_is_reported_once_and_checked_for_a_few_times() {
        let mut prompt = Prompt::begin(at(1000), None);
        assert_eq!(prompt.look_at(), Some(at(1300)));
        assert!(!prompt.looked(false, 5, 0));
        assert_eq!(prompt.look_at(), Some(at(2000)));
        assert!(prompt.looked(true, 5, 0));
        assert_eq!(
            prompt.look_at(),
            None,
            "nothing more to find until it lives again"
        );
        prompt.is_alive(at(4000));
        assert!(!prompt.looked(true, 5, 0), "the same prompt");
        prompt.is_alive(at(5000));
        assert!(prompt.looked(true, 9, 0), "another");
        for _ in 0..4 {
            prompt.is_alive(at(6000));
        }
        for _ in 0..4 {
            prompt.looked(false, 9, 0);
        }
        assert_eq!(prompt.look_at(), None, "it has been looked at often enough");
    }

    #[test]
    fn no_prompt_is_reported_soon_after_a_write() {
        let mut prompt = Prompt::begin(at(0), None);
        prompt.is_talked_to(at(1000));
        prompt.is_alive(at(1001));
        assert_eq!(prompt.look_at(), Some(at(16_000)));
    }
}
