//! The index of an output: marks that find the offset of a line or of a time.
//!
//! A mark stores an offset, the number of lines that end before it, and the time at which the output
//! reached it. Keepers add a mark at least every [`SPACING`] bytes, and one per second while output is
//! slow. A binary search over the marks and a scan of at most one spacing then find any line or time.
//! Keepers only append; readers ignore an incomplete last mark.

use crate::clocks::WallTime;
use std::time::Duration;

/// Scanning this many bytes takes a fraction of a millisecond.
pub const SPACING: u64 = 1024 * 1024;
/// The time between marks while output is slow.
pub const INTERVAL: Duration = Duration::from_secs(1);
const BYTES: usize = 24;

/// One entry of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    pub offset: u64,
    /// Newlines before the offset.
    pub newlines: u64,
    /// The time at which the output reached the offset.
    pub at: WallTime,
}

impl Mark {
    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (index, number) in [self.offset, self.newlines, self.at.ms()]
            .into_iter()
            .enumerate()
        {
            bytes[index * 8..index * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Mark> {
        let number = |index: usize| {
            Some(u64::from_le_bytes(
                bytes.get(index * 8..index * 8 + 8)?.try_into().ok()?,
            ))
        };
        Some(Mark {
            offset: number(0)?,
            newlines: number(1)?,
            at: WallTime::from_ms(number(2)?),
        })
    }
}

/// The marks of one output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    marks: Vec<Mark>,
}

impl Index {
    /// Reads marks in order. A mark that goes backwards is damaged, so it and all later ones are
    /// ignored.
    pub fn parse(bytes: &[u8]) -> Index {
        let mut marks: Vec<Mark> = Vec::new();
        for mark in bytes.chunks_exact(BYTES).filter_map(Mark::decode) {
            let last = marks.last().copied().unwrap_or_default();
            if mark.offset < last.offset || mark.newlines < last.newlines {
                break;
            }
            marks.push(mark);
        }
        Index { marks }
    }

    /// The length of these marks in the index file, in bytes.
    pub fn length(&self) -> u64 {
        (self.marks.len() * BYTES) as u64
    }

    pub fn last(&self) -> Mark {
        self.marks.last().copied().unwrap_or_default()
    }

    /// The last mark at or before this offset.
    pub fn before_offset(&self, offset: u64) -> Mark {
        self.before(|mark| mark.offset <= offset)
    }

    /// The first mark at or after this offset.
    pub fn after_offset(&self, offset: u64) -> Option<Mark> {
        let index = self.marks.partition_point(|mark| mark.offset < offset);
        self.marks.get(index).copied()
    }

    /// The last mark with at most this many newlines before it.
    pub fn before_line(&self, newlines: u64) -> Mark {
        self.before(|mark| mark.newlines <= newlines)
    }

    /// The last mark that is not later than this time.
    pub fn before_time(&self, time: WallTime) -> Mark {
        self.before(|mark| mark.at <= time)
    }

    /// The time by which the byte at this offset had been written, if that is known yet.
    pub fn time_of(&self, offset: u64) -> Option<WallTime> {
        let index = self.marks.partition_point(|mark| mark.offset <= offset);
        self.marks.get(index).map(|mark| mark.at)
    }

    fn before(&self, holds: impl Fn(&Mark) -> bool) -> Mark {
        let count = self.marks.partition_point(holds);
        count
            .checked_sub(1)
            .map_or_else(Mark::default, |index| self.marks[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marks() -> impl Strategy<Value = Vec<Mark>> {
        prop::collection::vec((1u64..100, 0u64..100, 0u64..100), 0..30).prop_map(|steps| {
            let mut mark = Mark::default();
            steps
                .into_iter()
                .map(|(bytes, lines, ms)| {
                    mark = Mark {
                        offset: mark.offset + bytes,
                        newlines: mark.newlines + lines.min(bytes),
                        at: mark.at + Duration::from_millis(ms),
                    };
                    mark
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn a_torn_mark_is_passed_over_and_the_rest_found(marks in marks(), cut in 0usize..BYTES, probe in 0u64..3000) {
            let mut bytes: Vec<u8> = marks.iter().flat_map(|mark| mark.encode()).collect();
            bytes.extend(vec![0xAA; cut]);
            let index = Index::parse(&bytes);
            prop_assert_eq!(&index.marks, &marks);
            let by = |holds: &dyn Fn(&&Mark) -> bool| marks.iter().rfind(|mark| holds(mark)).copied().unwrap_or_default();
            prop_assert_eq!(index.before_offset(probe), by(&|mark| mark.offset <= probe));
            prop_assert_eq!(index.before_line(probe), by(&|mark| mark.newlines <= probe));
            let time = WallTime::from_ms(probe);
            prop_assert_eq!(index.before_time(time), by(&|mark| mark.at <= time));
        }

        #[test]
        fn any_bytes_are_readable(bytes: Vec<u8>) {
            let index = Index::parse(&bytes);
            prop_assert!(index.length() <= bytes.len() as u64);
        }
    }
}
