//! One job, seen from outside: what it is, where it runs, whether it is over, and how to reach it.
//!
//! | module | contains |
//! |---|---|
//! | `job` | a job as the interfaces show it |
//! | `presence` | checks that a job has a keeper or is over, and recovers a job whose keepers died |
//! | `whereabouts` | the host and the boot that a job belongs to |
//! | `connection` | requests to a job's keeper |
//! | `descriptors` | provides file descriptors for many connections |
//! | `naming` | finds the job that a name means |
//! | `twin` | finds a running job with the same command |
//! | `usage` | what a running job uses now |
//! | `hold` | protects a job from being pruned |

pub(crate) mod connection;
pub(crate) mod descriptors;
pub(crate) mod hold;
pub(crate) mod job;
pub(crate) mod naming;
pub(crate) mod presence;
pub(crate) mod twin;
pub(crate) mod usage;
pub(crate) mod whereabouts;
