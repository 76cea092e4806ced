//! When a place that cannot be reached is tried again by itself, while somebody listens.
//!
//! The pauses are 1, 2, 4 … 60 s. Attempts that verbs ask for come besides and change none of them, so that nobody who
//! waits hears later because somebody else has looked.

use outlive_core::BootTime;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A wire that did not last this long ended at once. The first time, the place is reached again at once; after that, not
/// without a pause, whoever asks.
const AT_ONCE: Duration = Duration::from_millis(200);
const SHORT_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_SHORT_PAUSE: Duration = Duration::from_secs(2);
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
    /// How many wires in a row have ended at once.
    short_wires: u32,
    /// No attempt begins before.
    earliest: BootTime,
}

impl Retries {
    /// The first attempt is due now.
    pub fn new(now: BootTime) -> Retries {
        Retries {
            next: now,
            pause: FIRST_PAUSE,
            is_own: false,
            reached_at: None,
            short_wires: 0,
            earliest: now,
        }
    }

    /// No attempt begins before this, whoever asks for one.
    pub fn earliest(&self) -> BootTime {
        self.earliest
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
    }

    /// The attempt has failed, or the wire is lost. What was not understood once is not understood the next time.
    pub fn failed(&mut self, now: BootTime, is_understood: bool) {
        let reached_at = self.reached_at.take();
        if let Some(at) = reached_at {
            self.count_wire(now, now.since(at));
        }
        match reached_at.filter(|_| is_understood) {
            Some(at) => {
                self.pause = FIRST_PAUSE;
                self.next = match now.since(at) >= STEADY {
                    true => now,
                    false => now + FIRST_PAUSE,
                };
            }
            None if self.is_own || reached_at.is_some() => {
                self.next = now + self.pause;
                self.pause = (2 * self.pause).min(LONGEST_PAUSE);
            }
            None if self.next <= now => self.next = now + self.pause,
            None => {}
        }
    }

    fn count_wire(&mut self, now: BootTime, lasted: Duration) {
        if lasted >= AT_ONCE {
            self.short_wires = 0;
            return;
        }
        let doubled = SHORT_PAUSE.saturating_mul(1 << self.short_wires.saturating_sub(1).min(16));
        if self.short_wires > 0 {
            self.earliest = now + doubled.min(LONGEST_SHORT_PAUSE);
        }
        self.short_wires += 1;
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
            retries.failed(at(now), true);
            assert_eq!(retries.next(), at(now + pause));
            // A verb asks, and its attempt fails too.
            retries.begin(false);
            retries.failed(at(now), true);
            assert_eq!(retries.next(), at(now + pause));
            now += pause;
        }
    }

    #[test]
    fn a_lost_wire_that_was_steady_is_opened_again_at_once() {
        let mut retries = Retries::new(at(0));
        retries.reached(at(0));
        retries.failed(at(100), true);
        assert_eq!(retries.next(), at(100));
        // One that breaks at once is not tried again without a pause.
        retries.reached(at(100));
        retries.failed(at(100), true);
        assert_eq!(retries.next(), at(101));
    }

    #[test]
    fn a_place_that_is_not_understood_is_tried_less_and_less_often() {
        let mut retries = Retries::new(at(0));
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            retries.begin(false);
            retries.reached(at(0));
            retries.failed(at(100), false);
            assert_eq!(retries.next(), at(100 + pause));
        }
        retries.reached(at(0));
        retries.failed(at(100), true);
        assert_eq!(retries.next(), at(100));
    }

    #[test]
    fn wires_that_end_at_once_are_not_opened_without_a_pause_whoever_asks() {
        let mut retries = Retries::new(at(0));
        for pause in [0, 50, 100, 200, 400, 800, 1600, 2000, 2000] {
            retries.reached(at(10));
            retries.failed(at(10), true);
            let expected = at(10) + Duration::from_millis(pause);
            assert_eq!(retries.earliest().max(at(10)), expected);
        }
        retries.reached(at(10));
        retries.failed(at(11), true);
        retries.reached(at(20));
        retries.failed(at(20), true);
        assert!(retries.earliest() <= at(20), "the first of a new row");
    }
}
