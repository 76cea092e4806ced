//! The steps at which tests can pause or kill a launcher, an inbox consumer, a pruner, a poster, a courier or a far end.

use outlive_sys::hook;
use std::env;
use std::sync::OnceLock;
use std::time::Duration;

/// How many times shorter a test has couriers and far ends wait, so that it need not wait for a minute itself.
const HASTE: &str = "OUTLIVE_HASTE";

/// How long to wait: as long as is said, unless a test is in haste.
pub fn unhurried(time: Duration) -> Duration {
    static TIMES: OnceLock<u32> = OnceLock::new();
    if !cfg!(debug_assertions) {
        return time;
    }
    let read = || env::var(HASTE).ok()?.parse().ok();
    time / *TIMES.get_or_init(|| read().filter(|times| *times > 0).unwrap_or(1))
}

/// A step of a launcher.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    /// The job's directory exists under a temporary name.
    DirectoryMade,
    /// The job's links exist.
    Linked,
    /// The job's directory has its final name.
    Named,
    /// The id was taken; the links that it made still exist.
    Refused,
    /// It has restored links that were missing.
    Relinked,
    /// The keeper's process is started, and has not reported yet.
    KeeperSpawned,
}

/// A step of an inbox consumer.
#[derive(Clone, Copy, Debug)]
pub enum ConsumerHook {
    /// Its wake-up FIFO exists under a temporary name.
    BellMade,
    /// It is about to read the inbox.
    Looking,
    /// It knows what is due and has claimed nothing.
    Looked,
    /// Its claim is written, but it has not checked whether the claim counts.
    Claimed,
    /// It is about to check whether its claims still count.
    Confirming,
    /// The events are delivered but not acked.
    Delivered,
    /// The events are acked.
    Acked,
    /// It has read the spec of a job, but not the journal.
    SpecRead,
    /// It has recorded that events were told; the link to their job still exists.
    Settled,
}

/// A step of a pruner.
#[derive(Clone, Copy, Debug)]
pub enum PrunerHook {
    /// It knows that a job may be removed, and has not begun.
    Selected,
    /// It has locked the job's name exclusively.
    Alone,
    /// The job's links are removed.
    Unlinked,
    /// The job's directory is renamed.
    Renamed,
    /// It has found a dangling link and has not removed it.
    LinkLeadsNowhere,
    /// It has removed that link.
    LinkRemoved,
    /// A start is about to look through ended jobs, which only one process does at a time.
    RetentionBegun,
    /// It has removed what is beyond the limits, and has not recorded that it did.
    RetentionDone,
}

/// A step of a caller that takes a job back from a process that answers in its keeper's place.
#[derive(Clone, Copy, Debug)]
pub enum StopperHook {
    /// It has killed both keepers.
    PairKilled,
    /// The stop is journaled; no keeper knows of it yet.
    StopNoted,
}

pub fn reach_stopper(hook: StopperHook) {
    if cfg!(debug_assertions) {
        hook::reach("stopper", &format!("{hook:?}"));
    }
}

/// A step of a far end.
#[derive(Clone, Copy, Debug)]
pub enum FarHook {
    /// It has raised the epoch, and nobody knows it yet.
    Raised,
    /// A job is there, and the courier does not know it yet.
    Launched,
    /// It has records that the courier does not have.
    News,
    /// It has recorded what the courier has.
    Acked,
}

pub fn reach_far(hook: FarHook) {
    if cfg!(debug_assertions) {
        hook::reach("far", &format!("{hook:?}"));
    }
}

/// A step of a poster.
#[derive(Clone, Copy, Debug)]
pub enum PosterHook {
    /// The post is written under a temporary name.
    Written,
    /// The post has its final name, or was refused.
    Named,
    /// The post is linked into the inbox.
    Linked,
}

/// A step of a courier.
#[derive(Clone, Copy, Debug)]
pub enum CourierHook {
    /// It holds the lock of its place, and does not listen yet.
    Locked,
    /// It listens, and has told nobody.
    Listening,
    /// The place has answered, and that is not written down.
    Greeted,
    /// A client's request is read, and nothing is done about it.
    Asked,
    /// A start was sent.
    LaunchSent,
    /// A start was answered, and that is not written down.
    Launched,
    /// That a job is there is written down, and its client does not know.
    Answered,
    /// The place has said which jobs are there, and nothing is written down.
    Stood,
    /// That a job was not started is written down, and its end is not.
    NotStarted,
    /// A record is in a replica, and not synced.
    Appended,
    /// A replica is synced, and not acked.
    Synced,
    /// The last records of a job are acked, and it still counts as running.
    Acked,
    /// The end of a job is in the list of ended jobs, and it still counts as running.
    Noted,
    /// A doorbell is about to ring.
    Ringing,
    /// A doorbell has rung, and that is not written down.
    Rang,
}

pub fn reach_courier(hook: CourierHook) {
    if cfg!(debug_assertions) {
        hook::reach("courier", &format!("{hook:?}"));
    }
}

/// A step of the mailbox of a tunnel.
#[derive(Clone, Copy, Debug)]
pub enum TunnelHook {
    /// A call has come, and nothing is done about it.
    Asked,
    /// What the far end has said is kept.
    Collected,
    /// A call is answered.
    Answered,
}

pub fn reach_tunnel(hook: TunnelHook) {
    if cfg!(debug_assertions) {
        hook::reach("tunnel", &format!("{hook:?}"));
    }
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
