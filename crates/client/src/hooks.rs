//! Where tests can stop or kill a launcher, or a consumer of an inbox.

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
    /// The claim is written, and not yet known to count.
    Claimed,
    /// The events are out, and not yet acked.
    Delivered,
    Acked,
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
