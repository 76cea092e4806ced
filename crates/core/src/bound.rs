//! How much of an output is kept: the first quarter of its limit, and the newest part of the rest.
//!
//! Everything between is dropped in fixed strides. The dropped range follows from the output's size
//! alone, so nobody records it, and all keepers and readers agree on it.
//!
//! ```text
//!  0 ──── head ──── dropped, whole strides ──── at least the tail ──── size
//! ```
//!
//! The kept output may exceed the limit by one step of two strides. One stride is not complete yet, so
//! it cannot be dropped. The other may be written before the stride that it replaces is removed.

pub use outlive_api::defaults::MIN_OUTPUT;
use std::ops::Range;

const PAGE: u64 = 4096;
/// The limit is kept to within a sixteenth of it, or two pages if that is more.
const STEPS: u64 = 16;
const STRIDES: u64 = 2 * STEPS;

/// The limit of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    head: u64,
    tail: u64,
    stride: u64,
}

impl Bound {
    /// Keeps at most `max` bytes and one step more.
    pub fn new(max: u64) -> Bound {
        let max = max.max(MIN_OUTPUT);
        let head = max / 4 / PAGE * PAGE;
        Bound {
            head,
            tail: max - head,
            stride: (max / STRIDES / PAGE * PAGE).max(PAGE),
        }
    }

    /// This many bytes at the beginning are never dropped.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// At most this many bytes are written before the bytes they replace are removed.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// The range that is dropped from an output of this size; empty while everything fits.
    pub fn dropped(&self, size: u64) -> Range<u64> {
        let strides = size.saturating_sub(self.head + self.tail) / self.stride;
        match strides {
            0 => 0..0,
            _ => self.head..self.head + strides * self.stride,
        }
    }

    /// The stride that contains a byte after the head. A stride is dropped as a whole.
    pub fn stride_of(&self, at: u64) -> Range<u64> {
        let start = at - at.saturating_sub(self.head) % self.stride;
        start..start + self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn head_and_tail_stay_and_the_bound_holds(max in MIN_OUTPUT..1u64 << 40, sizes in prop::collection::vec(0u64..1 << 45, 1..20)) {
            let bound = Bound::new(max);
            let mut sizes = sizes;
            sizes.sort_unstable();
            let mut before = 0;
            let step = (max / STEPS).max(2 * PAGE);
            for size in sizes {
                let dropped = bound.dropped(size);
                let kept = size - (dropped.end - dropped.start);
                prop_assert!(kept + bound.stride() <= max + step, "there is room for one more");
                prop_assert!(dropped.end >= before, "what is dropped stays dropped");
                before = dropped.end;
                if dropped.is_empty() {
                    prop_assert!(size < max + step);
                } else {
                    prop_assert_eq!(dropped.start, max / 4 / PAGE * PAGE);
                    prop_assert!(size - dropped.end >= max - max / 4, "the tail is whole");
                    prop_assert_eq!(dropped.start % PAGE + dropped.end % PAGE, 0);
                }
            }
        }

        #[test]
        fn strides_are_dropped_whole(max in MIN_OUTPUT..1u64 << 40, size in 0u64..1 << 45, behind in 0u64..1 << 45) {
            let bound = Bound::new(max);
            let at = bound.head() + behind;
            let stride = bound.stride_of(at);
            prop_assert!(stride.contains(&at) && stride.start >= bound.head());
            prop_assert_eq!(stride.end - stride.start, bound.stride());
            prop_assert_eq!(bound.stride_of(stride.end).start, stride.end);
            let dropped = bound.dropped(size);
            prop_assert_eq!(dropped.contains(&stride.start), dropped.contains(&(stride.end - 1)));
        }
    }
}
