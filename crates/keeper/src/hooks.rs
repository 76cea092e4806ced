//! Where tests can stop or kill a keeper: before and after every durable step.

use outlive_sys::hook;

/// Which process this is, for hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Keeper,
    /// The standby of a keeper that died.
    Heir,
}

/// A step a keeper has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// It acts, and has written nothing yet.
    Begun,
    /// A job that waited for its lock has it.
    TurnCame,
    /// The leader is forked, and not yet in the journal.
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
    /// A write is accepted, which whoever sent it has not been told.
    InputAccepted,
    /// The job's input is over, which whoever asked for it has not been told.
    InputEnded,
    /// A sign of the job is journaled.
    Noticed,
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
    /// It has ended, which is not written down yet.
    Rang,
    /// That what lingered is gone is journaled.
    LingeringEnded,
    Closed,
    Retired,
}

/// The standby is about to make the job's names last.
pub fn standby_syncs() {
    if cfg!(debug_assertions) {
        hook::reach("standby", "Syncs");
    }
}

/// A keeper that looks for the job's processes has read its own children, and not yet theirs.
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
