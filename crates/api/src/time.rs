//! Times and durations.

use crate::defaults::milliseconds;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A time on the wall clock, to the millisecond. As JSON and as text it is RFC 3339 in UTC, always with
/// milliseconds, so that text sorts as time does: `2026-11-15T08:00:00.123Z`.
///
/// It is for people and for programs that show it. Deadlines are not computed from it, because somebody may
/// set the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(u64);

/// A text that is no [`Timestamp`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a time; one looks like 2026-11-15T08:00:00.123Z")]
pub struct BadTimestamp(String);

/// A duration in whole milliseconds. In JSON it is a number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Millis(pub u64);

const SECOND_MS: u64 = 1000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

impl Timestamp {
    /// The time this many milliseconds after 1970-01-01 in UTC.
    pub fn from_unix_ms(unix_ms: u64) -> Timestamp {
        Timestamp(unix_ms)
    }

    /// Milliseconds since 1970-01-01 in UTC.
    pub fn unix_ms(self) -> u64 {
        self.0
    }

    /// Reads a time in UTC, with or without a fraction of a second. Digits after the third one of the fraction
    /// are ignored.
    pub fn parse(text: &str) -> Result<Timestamp, BadTimestamp> {
        parse(text)
            .map(Timestamp)
            .ok_or_else(|| BadTimestamp(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut clock = clock.split(':');
    let (hour, minute, second) = (clock.next()?, clock.next()?, clock.next()?);
    if date.next().is_some() || clock.next().is_some() || year.len() < 4 {
        return None;
    }
    let (year, month, day) = (
        number(year, 0, 9_999_999)?,
        number(month, 1, 12)?,
        number(day, 1, 31)?,
    );
    let days = days_since_1970(year, month, day)?;
    // A date such as 02-30 counts into the next month, and is none.
    if date_of(days) != (year, month, day) {
        return None;
    }
    let of_day = number(hour, 0, 23)? * HOUR_MS
        + number(minute, 0, 59)? * MINUTE_MS
        + number(second, 0, 59)? * SECOND_MS;
    Some(days * DAY_MS + of_day + fraction_ms(fraction)?)
}

fn number(text: &str, least: u64, most: u64) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_plain)?;
    (least..=most).contains(&number).then_some(number)
}

/// The milliseconds in what follows the point.
fn fraction_ms(digits: &str) -> Option<u64> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| {
        let first = digits.bytes().chain(*b"000").take(3);
        first.fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'))
    })
}

// Years are counted from March, so that the day that leap years add is the last one of a year. Then each
// month's beginning is a straight line.
const DAYS_TO_1970: u64 = 719_468;
const DAYS_IN_400_YEARS: u64 = 146_097;

/// Year, month and day, so many days after 1970-01-01.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let era = days / DAYS_IN_400_YEARS;
    let day_of_era = days % DAYS_IN_400_YEARS;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (year_of_era + era * 400, month + 3),
        _ => (year_of_era + era * 400 + 1, month - 9),
    };
    (year, month, day)
}

/// The days from 1970-01-01 to this date; `None` for an earlier one.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = match month {
        3.. => (year, month - 3),
        _ => (year.checked_sub(1)?, month + 9),
    };
    let year_of_era = year % 400;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (year / 400 * DAYS_IN_400_YEARS + day_of_era).checked_sub(DAYS_TO_1970)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0 / DAY_MS, self.0 % DAY_MS);
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (ms / HOUR_MS, ms / MINUTE_MS % 60, ms / SECOND_MS % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
            ms % SECOND_MS
        )
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> String {
        time.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = BadTimestamp;
    fn try_from(text: String) -> Result<Timestamp, BadTimestamp> {
        Timestamp::parse(&text)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "RFC 3339 in UTC, with milliseconds",
        })
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Millis {
        Millis(milliseconds(duration))
    }
}

impl From<Millis> for Duration {
    fn from(ms: Millis) -> Duration {
        Duration::from_millis(ms.0)
    }
}

/// A [`Duration`] as a number of milliseconds, for `#[serde(with)]`.
pub(crate) mod ms {
    use super::Millis;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        Millis::from(*time).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Millis::deserialize(from).map(Duration::from)
    }
}

/// The same for one that may be absent.
pub(crate) mod optional_ms {
    use super::Millis;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(Millis::from).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Millis>::deserialize(from)?.map(Duration::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_written_as_the_interface_says() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_001, "2000-03-01T00:00:00.001Z"),
            (1_794_746_838_742, "2026-11-15T12:47:18.742Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp::from_unix_ms(ms).to_string(), text);
            assert_eq!(Timestamp::parse(text), Ok(Timestamp::from_unix_ms(ms)));
        }
        let read = |text| Timestamp::parse(text).map(Timestamp::unix_ms);
        assert_eq!(read("1970-01-01T00:00:01Z"), Ok(1000));
        assert_eq!(read("1970-01-01T00:00:00.1Z"), Ok(100));
        assert_eq!(read("1970-01-01T00:00:00.123456Z"), Ok(123));
    }

    /// Each day of four hundred years follows the day before it.
    #[test]
    fn consecutive_days_have_consecutive_dates() {
        let length = |year: u64, month: u64| match month {
            4 | 6 | 9 | 11 => 30,
            2 if year.is_multiple_of(4)
                && (!year.is_multiple_of(100) || year.is_multiple_of(400)) =>
            {
                29
            }
            2 => 28,
            _ => 31,
        };
        let mut expected = (1970, 1, 1);
        for days in 0..DAYS_IN_400_YEARS {
            assert_eq!(date_of(days), expected);
            let (year, month, day) = expected;
            assert_eq!(days_since_1970(year, month, day), Some(days));
            expected = match (day < length(year, month), month) {
                (true, _) => (year, month, day + 1),
                (false, 12) => (year + 1, 1, 1),
                (false, _) => (year, month + 1, 1),
            };
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in [
            "",
            "Z",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00+00:00",
            "1969-12-31T23:59:59Z",
            "2025-02-29T00:00:00Z",
            "2025-13-01T00:00:00Z",
            "2025-01-01T24:00:00Z",
            "2025-01-01T00:00:00.Z",
            "2025-01-01T00:00:+1Z",
            "99999999999-01-01T00:00:00Z",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }

    proptest! {
        #[test]
        fn every_time_reads_back(ms in 0u64..253_402_300_800_000) {
            let time = Timestamp::from_unix_ms(ms);
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Ok(time));
        }

        #[test]
        fn text_sorts_as_time(a in 0u64..253_402_300_800_000, b in 0u64..253_402_300_800_000) {
            let (a, b) = (Timestamp::from_unix_ms(a), Timestamp::from_unix_ms(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn parsing_arbitrary_text_never_panics(text in "\\PC*") {
            let _ = Timestamp::parse(&text);
        }
    }
}
