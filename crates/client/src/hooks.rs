//! Where tests can stop or kill a launcher, a consumer of an inbox, a pruner, or whoever posts.

use outlive_sys::hook;

/// A step a launcher has reached.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    DirectoryMade,
    Linked,
    Named,
    /// The id was taken, and its links are still there.
    Refused,
    /// The links were made again where they were missing.
    Relinked,
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
    /// It is about to see whether what it claimed is still its own.
    Confirming,
    /// The events are out, and not yet acked.
    Delivered,
    Acked,
    /// It has read what was asked of a job, and not yet what became of it.
    SpecRead,
    /// That events were told is written down; the link to their job is still there.
    Settled,
}

/// A step whoever prunes has reached.
#[derive(Clone, Copy, Debug)]
pub enum PrunerHook {
    /// It knows that a job may be removed, and has not begun to.
    Selected,
    /// It has the job's name to itself.
    Alone,
    /// The job's links are gone.
    Unlinked,
    /// The job has lost its name.
    Renamed,
    /// It has found a link that leads nowhere.
    LinkLeadsNowhere,
    /// It has removed that link.
    LinkRemoved,
}

/// A step whoever posts has reached.
#[derive(Clone, Copy, Debug)]
pub enum PosterHook {
    Written,
    Named,
    Linked,
}

pub fn reach_poster(hook: PosterHook) {
    if cfg!(debug_assertions) {
        hook::reach("poster", &format!("{hook:?}"));
    }
}

pub fn reach_pruner(hook: PrunerHook) {
    if cfg!(debug_assertions) {
        hook::reach("pruner", &format!("{hook:?}"));
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
