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
    /// The jobs that this one starts after have ended, and that is remembered.
    AfterMet,
    /// The width of the queue is written; the job has not joined yet.
    QueueWidened,
    /// The job has a number in its queue; nobody can see it yet.
    QueueNumbered,
    QueueJoined,
    /// The queue counts the job as one that runs.
    TurnTaken,
    /// A job that waited has everything that it waited for.
    TurnCame,
    /// The journal says how the limits of the job are enforced.
    Confined,
    /// The control groups of the job exist.
    GroupsMade,
    /// The leader is forked, but not yet in the journal.
    Forked,
    /// The leader is under its limits, and waits at its gate.
    PutUnder,
    Spawned,
    GateOpened,
    Executed,
    Started,
    /// The launcher has been told.
    Ready,
    /// There is a new standby, and the journal says so.
    NewStandby,
    Captured,
    /// It is written down that the next byte is of the other stream, but the byte is not taken.
    Switched,
    /// The shorter file of switches is written, but not in its place.
    SwitchesRewritten,
    /// The shorter file of switches is in its place.
    SwitchesReplaced,
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
    /// The end of an attempt is journaled. Its leader is not reaped, and its leftovers run.
    AttemptEnded,
    AttemptReaped,
    /// Nothing of the last attempt is left, and it is time for the next.
    AttemptDue,
    /// The next attempt has a gate, which a successor can take over.
    GateParked,
    Drained,
    OutputSynced,
    EndedRecorded,
    /// The next job of the queue can have its turn.
    TurnPassed,
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

/// The process that waits in a queue has taken the job's turn. Its keeper does not know yet.
pub fn errand_took_turn() {
    if cfg!(debug_assertions) {
        hook::reach("errand", "TurnTaken");
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
