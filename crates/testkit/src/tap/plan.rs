//! What happens to which part.

use super::frames::{Direction, Part};
use std::time::Duration;

/// What happens to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// The connection is cut, in both directions.
    Cut(Where),
    /// From this part on, nothing passes in this direction. The connection stays open.
    Silence,
    /// The part, and what follows, comes later.
    Delay(Duration),
    /// A bit of this byte is flipped (counted from the part's beginning, as far as it is long).
    Flip(usize),
}

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Before the part.
    Before,
    /// After so many of its bytes; fewer, if it is shorter, so that it never arrives whole.
    Within(usize),
    /// After the part.
    After,
}

/// A blow, with the direction and the number of its part.
pub type Armed = (Direction, usize, Blow);

/// At most one blow, and a record of what has passed.
#[derive(Debug, Default)]
pub struct Plan {
    armed: Option<Armed>,
    /// Parts in that direction since then.
    counted: usize,
    has_struck: bool,
    passed: Vec<String>,
}

impl Plan {
    pub fn strike(&mut self, direction: Direction, nth: usize, blow: Blow) {
        self.armed = Some((direction, nth, blow));
        self.counted = 0;
        self.has_struck = false;
    }

    pub fn disarm(&mut self) -> bool {
        self.armed = None;
        self.has_struck
    }

    /// Takes the blow away, to be given back with [`Plan::take_up`].
    pub fn put_aside(&mut self) -> Option<Armed> {
        self.armed.take()
    }

    pub fn take_up(&mut self, armed: Option<Armed>) {
        self.armed = armed;
    }

    pub fn has_struck(&self) -> bool {
        self.has_struck
    }

    pub fn take_passed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.passed)
    }

    /// What happens to this part.
    pub fn blow_for(&mut self, direction: Direction, part: &Part) -> Option<Blow> {
        self.passed.push(part.shown(direction));
        let (armed, nth, blow) = self.armed?;
        if armed != direction {
            return None;
        }
        self.counted += 1;
        if self.counted != nth {
            return None;
        }
        self.passed.push(format!("{blow:?}"));
        (self.armed, self.has_struck) = (None, true);
        Some(blow)
    }
}
