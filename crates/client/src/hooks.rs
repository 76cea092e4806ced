//! Where tests can stop or kill a launcher, a consumer of an inbox, or whoever posts to one.

use outlive_sys::hook;

/// A step a launcher has reached.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    DirectoryMade,
    Linked,
    Named,
    KeeperSpawned,
}

/// A step a consumer of an inbox has reached.
#[derive(Clone, Copy, Debug)]
pub enum ConsumerHook {
    /// Its bell is made, and does not hang yet.
    BellMade,
    /// It is about to look.
    Looking,
    /// It knows what is due, and has claimed nothing.
    Looked,
    /// The claim is written, and not yet known to count.
    Claimed,
    /// The events are out, and not yet acked.
    Delivered,
    Acked,
}

/// A step whoever posts has reached.
#[derive(Clone, Copy, Debug)]
pub enum PosterHook {
    Written,
    Linked,
    Named,
}

pub fn reach_poster(hook: PosterHook) {
    if cfg!(debug_assertions) {
        hook::reach("poster", &format!("{hook:?}"));
    }
}

pub fn reach_consumer(hook: ConsumerHook) {
    if cfg!(debug_assertions) {
        hook::reach("consumer", &format!("{hook:?}"));
    }
}

pub fn reach(hook: Hook) {
    if cfg!(debug_assertions) {
        hook::reach("launcher", &format!("{hook:?}"));
    }
}
