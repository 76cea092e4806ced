//! Silence: reported once, until the job writes again.

use outlive_core::{BootTime, Millis};

/// How long a job has written nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    after: Millis,
    since: BootTime,
    told: bool,
}

impl Silence {
    pub fn begin(after: Millis, now: BootTime, told: bool) -> Silence {
        Silence {
            after,
            since: now,
            told,
        }
    }

    /// The job has written something.
    pub fn is_broken(&mut self, now: BootTime) {
        self.since = now;
        self.told = false;
    }

    /// Nothing that could write runs, until [`Silence::is_broken`].
    pub fn pause(&mut self) {
        self.told = true;
    }

    pub fn due_at(&self) -> Option<BootTime> {
        (!self.told).then_some(self.since + self.after)
    }

    /// How long the silence has lasted, if that is to be reported now.
    pub fn tick(&mut self, now: BootTime) -> Option<Millis> {
        let due = self.due_at().is_some_and(|at| at <= now);
        self.told |= due;
        due.then_some(self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_silence_is_reported_once() {
        let at = BootTime::from_ms;
        let mut silence = Silence::begin(Millis(100), at(0), false);
        assert_eq!(silence.tick(at(99)), None);
        assert_eq!(silence.tick(at(100)), Some(Millis(100)));
        assert_eq!((silence.tick(at(500)), silence.due_at()), (None, None));
        silence.is_broken(at(600));
        assert_eq!(silence.due_at(), Some(at(700)));
        assert!(silence.tick(at(700)).is_some());
        assert_eq!(Silence::begin(Millis(100), at(0), true).due_at(), None);
    }
}
