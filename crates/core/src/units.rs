//! Durations and sizes as people write them: `500ms`, `30s`, `5m`, `2h`, `7d`; `64M`, `1G`.
//!
//! A bare number means seconds, or bytes. Fractions are allowed (`1.5h`). Values that are too large are
//! refused and never wrap around.

use std::time::Duration;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadUnit {
    #[error("{0:?} is not a duration; write 500ms, 30s, 5m, 2h or 7d (a bare number is seconds)")]
    Duration(String),
    #[error("{0:?} is not a size; write 4096, 64K, 64M or 1G (a bare number is bytes)")]
    Size(String),
}

/// Ten thousand years. A longer duration is a mistake, and no time limit needs it.
pub const MAX_DURATION: Duration = Duration::from_secs(10_000 * 366 * 86_400);

pub fn parse_duration(text: &str) -> Result<Duration, BadUnit> {
    let bad = || BadUnit::Duration(text.to_owned());
    let (number, unit) = split(text).ok_or_else(bad)?;
    let unit_ms = match unit {
        "ms" => 1.0,
        "" | "s" => 1e3,
        "m" | "min" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return Err(bad()),
    };
    let ms = number * unit_ms;
    if ms > MAX_DURATION.as_millis() as f64 {
        return Err(bad());
    }
    Ok(Duration::from_micros((ms * 1e3).round() as u64))
}

pub fn parse_size(text: &str) -> Result<u64, BadUnit> {
    let bad = || BadUnit::Size(text.to_owned());
    let (number, unit) = split(text).ok_or_else(bad)?;
    let power = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return Err(bad()),
    };
    let bytes = number * 1024f64.powi(power);
    // Above 2^53 a float is no longer exact to the byte.
    if bytes > 9e15 {
        return Err(bad());
    }
    Ok(bytes.round() as u64)
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim_start()))
}

/// A duration for people, in the two largest units that matter.
pub fn show_duration(duration: Duration) -> String {
    let ms = duration.as_millis() as u64;
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{}.{}s", seconds, (ms % 1000) / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, (seconds % 3600) / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, (seconds % 86_400) / 3600),
    }
}

/// A size for people.
pub fn show_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (63 - (bytes | 1).leading_zeros()) / 10;
    let power = (power as usize).min(UNITS.len() - 1);
    match power {
        0 => format!("{bytes} B"),
        _ => format!(
            "{:.1} {}",
            bytes as f64 / 1024f64.powi(power as i32),
            UNITS[power]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_and_sizes_parse_as_people_write_them() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7", 7_000),
            ("1.5s", 1_500),
            ("0", 0),
            ("1d", 86_400_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(ms)),
                "{text}"
            );
        }
        for (text, bytes) in [
            ("64M", 64 << 20),
            ("1G", 1 << 30),
            ("10", 10),
            ("1.5k", 1536),
            ("2 GiB", 2 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for bad in [
            "",
            "s",
            "-1",
            "1y",
            "1e9",
            "1..2",
            "ten",
            "5 5",
            "99999999999999d",
            "∞",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad:?} was a duration");
            assert!(parse_size(bad).is_err(), "{bad:?} was a size");
        }
    }

    #[test]
    fn a_duration_is_shown_in_two_units() {
        for (ms, text) in [
            (12, "12ms"),
            (1_290, "1.2s"),
            (61_000, "1m01s"),
            (3_660_000, "1h01m"),
            (90_000_000, "1d01h"),
        ] {
            assert_eq!(show_duration(Duration::from_millis(ms)), text);
        }
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1 << 20, "1.0 MiB"),
        ] {
            assert_eq!(show_size(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn parsing_arbitrary_text_never_panics(text in "\\PC*") {
            let _ = parse_duration(&text);
            let _ = parse_size(&text);
        }

        #[test]
        fn milliseconds_round_trip(ms in 0u64..10_000_000_000) {
            prop_assert_eq!(parse_duration(&format!("{ms}ms")), Ok(Duration::from_millis(ms)));
        }
    }
}
