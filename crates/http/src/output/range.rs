//! The header `Range`, as far as it asks for one range of bytes.

use std::ops::Range;

/// A range that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// From this byte to that one, which is included; to the end without it.
    From(u64, Option<u64>),
    /// So many of the last bytes.
    Last(u64),
}

/// Reads the header. `None` if it asks for something else, which a server may leave out of account.
pub fn parse(header: &str) -> Option<Asked> {
    let (first, last) = header.strip_prefix("bytes=")?.trim().split_once('-')?;
    match (first, last) {
        ("", last) => Some(Asked::Last(last.parse().ok()?)),
        (first, "") => Some(Asked::From(first.parse().ok()?, None)),
        (first, last) => {
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(Asked::From(first, Some(last)))
        }
    }
}

impl Asked {
    /// The bytes of an output of this size; `None` if there are none.
    pub fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            Asked::From(first, last) => {
                first..last.map_or(size, |last| last.saturating_add(1).min(size))
            }
            Asked::Last(count) => size.saturating_sub(count)..size,
        };
        (!range.is_empty()).then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_to_what_there_is() {
        for (header, range) in [
            ("bytes=0-", Some(0..10)),
            ("bytes=3-5", Some(3..6)),
            ("bytes=3-3", Some(3..4)),
            ("bytes=3-99", Some(3..10)),
            ("bytes=-4", Some(6..10)),
            ("bytes=-99", Some(0..10)),
            ("bytes=-0", None),
            ("bytes=10-", None),
            ("bytes=0-18446744073709551615", Some(0..10)),
        ] {
            let asked = parse(header).expect("a range");
            assert_eq!(asked.within(10), range, "{header}");
        }
        for header in [
            "bytes=5-3",
            "bytes=-",
            "bytes=a-b",
            "lines=1-2",
            "bytes=0-1,3-4",
            "",
        ] {
            assert_eq!(parse(header), None, "{header:?}");
        }
    }
}
