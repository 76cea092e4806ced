//! Silence: told once, until the job writes again.

/// How long a job has written nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    after_ms: u64,
    since: u64,
    told: bool,
}

impl Silence {
    pub fn begin(after_ms: u64, now: u64, told: bool) -> Silence {
        Silence {
            after_ms,
            since: now,
            told,
        }
    }

    /// It has written something.
    pub fn is_broken(&mut self, now: u64) {
        self.since = now;
        self.told = false;
    }

    pub fn due_at(&self) -> Option<u64> {
        (!self.told).then_some(self.since.saturating_add(self.after_ms))
    }

    /// How long it has lasted, where that is to be told now.
    pub fn tick(&mut self, now: u64) -> Option<u64> {
        let due = self.due_at().is_some_and(|at| at <= now);
        self.told |= due;
        due.then_some(self.after_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_silence_is_told_once() {
        let mut silence = Silence::begin(100, 0, false);
        assert_eq!(silence.tick(99), None);
        assert_eq!(silence.tick(100), Some(100));
        assert_eq!((silence.tick(500), silence.due_at()), (None, None));
        silence.is_broken(600);
        assert_eq!(silence.due_at(), Some(700));
        assert!(silence.tick(700).is_some());
        assert_eq!(Silence::begin(100, 0, true).due_at(), None);
    }
}
