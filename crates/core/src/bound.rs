//! How much of an output is kept: the first quarter of its bound, and the rolling rest.
//!
//! What lies between is dropped in steps. Which range that is follows from the output's size alone,
//! so nobody needs to write it down, and every keeper and reader agrees on it.
//!
//! ```text
//!  0 ──── head ──── dropped, whole steps ──── at least the tail ──── size
//! ```

use std::ops::Range;

/// Unless asked otherwise.
pub const DEFAULT: u64 = 64 * 1024 * 1024;
/// Less could not be dropped in pages.
pub const LEAST: u64 = 64 * 1024;
const PAGE: u64 = 4096;
/// The bound is kept to within this part of it.
const STEPS: u64 = 16;

/// The bound of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    head: u64,
    tail: u64,
    step: u64,
}

impl Bound {
    /// Keeps at most `max` bytes and one step more.
    pub fn new(max: u64) -> Bound {
        let max = max.max(LEAST);
        let head = max / 4 / PAGE * PAGE;
        Bound {
            head,
            tail: max - head,
            step: max / STEPS / PAGE * PAGE,
        }
    }

    /// What is dropped of an output of this size; empty while everything fits.
    pub fn dropped(&self, size: u64) -> Range<u64> {
        let steps = size.saturating_sub(self.head + self.tail) / self.step;
        match steps {
            0 => 0..0,
            _ => self.head..self.head + steps * self.step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn head_and_tail_stay_and_the_bound_holds(max in LEAST..1u64 << 40, sizes in prop::collection::vec(0u64..1 << 45, 1..20)) {
            let bound = Bound::new(max);
            let mut sizes = sizes;
            sizes.sort_unstable();
            let mut before = 0;
            for size in sizes {
                let dropped = bound.dropped(size);
                prop_assert!(size - (dropped.end - dropped.start) <= max + max / STEPS);
                prop_assert!(dropped.end >= before, "what is dropped stays dropped");
                before = dropped.end;
                if dropped.is_empty() {
                    prop_assert!(size < max + max / STEPS);
                } else {
                    prop_assert_eq!(dropped.start, max / 4 / PAGE * PAGE);
                    prop_assert!(size - dropped.end >= max - max / 4, "the tail is whole");
                    prop_assert_eq!(dropped.start % PAGE + dropped.end % PAGE, 0);
                }
            }
        }
    }
}
