//! When to look whether the job waits for input, so that somebody can be told.
//!
//! The kernel tells what a process is blocked in, but not when it begins to be. So the job is looked at
//! a moment after each sign of life, and a few times more, and then no more until the next one.

/// After a sign of life.
const LOOKS_MS: [u64; 4] = [300, 1_000, 5_000, 30_000];
/// Whoever has just written to the job is talking to it, and need not be told that it listens.
const TALKING_MS: u64 = 15_000;

/// Looking for one job's prompts.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    /// How often it has been looked since the last sign of life, and when that was.
    looks: usize,
    alive: u64,
    /// Until then somebody is talking to it.
    talking: u64,
    /// How far output and input had come when a prompt was told.
    told: Option<(u64, u64)>,
}

impl Prompt {
    pub fn begin(now: u64, told: Option<(u64, u64)>) -> Prompt {
        Prompt {
            looks: 0,
            alive: now,
            talking: 0,
            told,
        }
    }

    /// The job has written something, or was started.
    pub fn is_alive(&mut self, now: u64) {
        self.looks = 0;
        self.alive = now;
    }

    /// Somebody has written to it.
    pub fn is_talked_to(&mut self, now: u64) {
        self.talking = now + TALKING_MS;
        self.is_alive(now);
    }

    pub fn look_at(&self) -> Option<u64> {
        let after = LOOKS_MS.get(self.looks)?;
        Some((self.alive + after).max(self.talking))
    }

    /// It was looked at, and waits or not; says whether that is news, with how far output and input
    /// have come.
    pub fn looked(&mut self, awaits: bool, size: u64, accepted: u64) -> bool {
        self.looks = match awaits {
            true => LOOKS_MS.len(),
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

    #[test]
    fn a_prompt_is_told_once_and_looked_for_a_few_times() {
        let mut prompt = Prompt::begin(1000, None);
        assert_eq!(prompt.look_at(), Some(1300));
        assert!(!prompt.looked(false, 5, 0));
        assert_eq!(prompt.look_at(), Some(2000));
        assert!(prompt.looked(true, 5, 0));
        assert_eq!(
            prompt.look_at(),
            None,
            "nothing more to find until it lives again"
        );
        prompt.is_alive(4000);
        assert!(!prompt.looked(true, 5, 0), "the same prompt");
        prompt.is_alive(5000);
        assert!(prompt.looked(true, 9, 0), "another");
        for _ in 0..4 {
            prompt.is_alive(6000);
        }
        for _ in 0..4 {
            prompt.looked(false, 9, 0);
        }
        assert_eq!(prompt.look_at(), None, "it has been looked at often enough");
    }

    #[test]
    fn whoever_talks_to_it_is_left_in_peace() {
        let mut prompt = Prompt::begin(0, None);
        prompt.is_talked_to(1000);
        prompt.is_alive(1001);
        assert_eq!(prompt.look_at(), Some(16_000));
    }
}
