//! Where tests can stop or kill a keeper: before and after every durable step.

use outlive_sys::hook;

/// Which process this is, for hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Keeper,
    /// A standby that became the keeper because its keeper died.
    Heir,
}

/// A step a keeper has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The process acts as keeper, and has written nothing yet.
    Begun,
    /// A job that waited for its lock has it now.
    TurnCame,
    /// The leader is forked, but not yet in the journal.
    Forked,
    Spawned,
    GateOpened,
    Executed,
    Started,
    /// The launcher has been told.
    Ready,
    /// There is a new standby, and the journal says so.
    NewStandby,
    Captured,
    /// A write is accepted, but the client has not been told.
    InputAccepted,
    /// The job's input is closed, but the client that asked for it has not been told.
    InputEnded,
    /// A sign of the job is journaled.
    Noticed,
    /// A change of watches or labels is asked for, and not journaled yet.
    ChangeAsked,
    /// The change is journaled, but the client has not been told.
    ChangeWritten,
    StopAsked,
    StopWritten,
    Terminated,
    LeaderEnded,
    Drained,
    OutputSynced,
    EndedRecorded,
    Noted,
    Told,
    Reaped,
    /// A doorbell is being run.
    Ringing,
    /// A doorbell has ended, but its result is not journaled yet.
    Rang,
    /// The journal says that the lingering processes are gone.
    LingeringEnded,
    Closed,
    Retired,
}

/// The standby is about to sync the job's names to the disk.
pub fn standby_syncs() {
    if cfg!(debug_assertions) {
        hook::reach("standby", "Syncs");
    }
}

/// A keeper that searches for the job's processes has read its own list of children, but not yet their lists.
pub fn own_children_read() {
    if cfg!(debug_assertions) {
        hook::reach("walk", "OwnChildrenRead");
    }
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Role::Keeper => "keeper",
            Role::Heir => "heir",
        }
    }

    /// Marks a step; in release builds this is nothing.
    pub fn reach(self, hook: Hook) {
        if cfg!(debug_assertions) {
            hook::reach(self.word(), &format!("{hook:?}"));
        }
    }
}
