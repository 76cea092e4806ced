//! One job, seen from outside: what it is, where it runs, whether it is over, and how to reach it.
//!
//! | module | contains |
//! |---|---|
//! | `job` | a job as the interfaces show it |
//! | `details` | what a job was asked for, and whether its end was told |
//! | `changing` | changes what was asked for |
//! | `attempts` | the attempts of a job that is restarted |
//! | `presence` | checks that a job has a keeper or is over, and recovers a job whose keepers died |
//! | `whereabouts` | the host and the boot that a job belongs to |
//! | `adoptable` | a process that somebody else started, before it becomes a job |
//! | `connection` | requests to a job's keeper |
//! | `crew` | reads many jobs on all processors |
//! | `descriptors` | provides file descriptors for many connections |
//! | `naming` | finds the job that a name means |
//! | `twin` | finds a running job with the same command |
//! | `usage` | what a running job uses now |
//! | `waiting` | what a job waits for before it starts |
//! | `hold` | protects a job from being pruned |

pub(crate) mod adoptable;
pub(crate) mod attempts;
pub(crate) mod away;
pub(crate) mod changing;
pub(crate) mod connection;
pub(crate) mod crew;
pub(crate) mod descriptors;
mod details;
pub(crate) mod hold;
pub(crate) mod job;
pub(crate) mod naming;
pub(crate) mod presence;
pub(crate) mod twin;
pub(crate) mod usage;
pub(crate) mod waiting;
pub(crate) mod whereabouts;
