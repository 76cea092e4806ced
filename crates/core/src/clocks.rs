//! Times on the two clocks of a machine, as types that cannot be mixed up.
//!
//! | type | clock | use |
//! |---|---|---|
//! | [`BootTime`] | milliseconds since boot, including suspended time; never goes back | durations and deadlines |
//! | [`WallTime`] | Unix milliseconds; somebody may set it | what people read |
//!
//! In files both are plain numbers. The difference of two times of the same clock is a [`Duration`]. All arithmetic
//! saturates: a deadline beyond the last time is the last time, and the time since something later is zero.
//!
//! This module does not read any clock.

use outlive_api::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// Milliseconds since the machine was started. It means nothing in another boot.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BootTime(u64);

/// Milliseconds since 1970-01-01 in UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WallTime(u64);

macro_rules! clock {
    ($time:ident) => {
        impl $time {
            pub const fn from_ms(ms: u64) -> $time {
                $time(ms)
            }

            pub const fn ms(self) -> u64 {
                self.0
            }

            /// How long ago `earlier` was; zero if it was later.
            pub const fn since(self, earlier: $time) -> Duration {
                Duration::from_millis(self.0.saturating_sub(earlier.0))
            }
        }

        impl Add<Duration> for $time {
            type Output = $time;
            fn add(self, length: Duration) -> $time {
                self + Millis::from(length)
            }
        }

        impl Add<Millis> for $time {
            type Output = $time;
            fn add(self, length: Millis) -> $time {
                $time(self.0.saturating_add(length.0))
            }
        }

        impl Sub<Duration> for $time {
            type Output = $time;
            fn sub(self, length: Duration) -> $time {
                $time(self.0.saturating_sub(Millis::from(length).0))
            }
        }
    };
}

clock!(BootTime);
clock!(WallTime);

impl From<WallTime> for Timestamp {
    fn from(time: WallTime) -> Timestamp {
        Timestamp::from_unix_ms(time.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_plain_number_in_files() {
        let time = BootTime::from_ms(5);
        assert_eq!(serde_json::to_string(&time).expect("encodes"), "5");
        assert_eq!(serde_json::from_str::<BootTime>("5").expect("reads"), time);
    }

    #[test]
    fn arithmetic_saturates() {
        let (early, late) = (WallTime::from_ms(3), WallTime::from_ms(u64::MAX));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late + Duration::from_millis(1), late);
        assert_eq!(early - Duration::from_secs(1), WallTime::from_ms(0));
        assert_eq!(early + Duration::MAX, late);
    }
}
