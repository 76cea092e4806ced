//! When a place that cannot be reached is tried again by itself, while somebody listens.
//!
//! The pauses are 1, 2, 4 … 60 s. Attempts that verbs ask for come besides and change none of them, so that nobody who
//! waits hears later because somebody else has looked.

use outlive_core::BootTime;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A wire that lasted this long is no sign of a place that fails: when it is lost, the place is tried again at once.
const STEADY: Duration = Duration::from_secs(5);

pub struct Retries {
    next: BootTime,
    /// The pause after the next attempt.
    pause: Duration,
    /// The present attempt was due by itself: no verb asked for it.
    is_own: bool,
    /// When the present wire was there, if there is one.
    reached_at: Option<BootTime>,
}

impl Retries {
    /// The first attempt is due now.
    pub fn new(now: BootTime) -> Retries {
        Retries {
            next: now,
            pause: FIRST_PAUSE,
            is_own: false,
            reached_at: None,
        }
    }

    /// When the next attempt is due.
    pub fn next(&self) -> BootTime {
        self.next
    }

    /// An attempt begins, because it is due or because a verb asks for it.
    pub fn begin(&mut self, is_due: bool) {
        self.is_own = is_due;
    }

    pub fn reached(&mut self, now: BootTime) {
        self.reached_at = Some(now);
        self.pause = FIRST_PAUSE;
    }

    /// The attempt has failed, or the wire is lost.
    pub fn failed(&mut self, now: BootTime) {
        match self.reached_at.take() {
            Some(at) if now.since(at) >= STEADY => self.next = now,
            Some(_) => self.next = now + FIRST_PAUSE,
            None if self.is_own => {
                self.next = now + self.pause;
                self.pause = (2 * self.pause).min(LONGEST_PAUSE);
            }
            None if self.next <= now => self.next = now + self.pause,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootTime {
        BootTime::default() + Duration::from_secs(seconds)
    }

    #[test]
    fn pauses_grow_whatever_verbs_ask_meanwhile() {
        let mut retries = Retries::new(at(0));
        let mut now = 0;
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            retries.begin(true);
            retries.failed(at(now));
            assert_eq!(retries.next(), at(now + pause));
            // A verb asks, and its attempt fails too.
            retries.begin(false);
            retries.failed(at(now));
            assert_eq!(retries.next(), at(now + pause));
            now += pause;
        }
    }

    #[test]
    fn a_lost_wire_that_was_steady_is_opened_again_at_once() {
        let mut retries = Retries::new(at(0));
        retries.reached(at(0));
        retries.failed(at(100));
        assert_eq!(retries.next(), at(100));
        // One that breaks at once is not tried again without a pause.
        retries.reached(at(100));
        retries.failed(at(100));
        assert_eq!(retries.next(), at(101));
    }
}
