//! One job, seen from outside: what it is, where it is, whether it still runs, and how to reach it.
//!
//! | module | owns |
//! |---|---|
//! | `job` | a job as the faces show it |
//! | `presence` | whether a job runs or is over, and mending a job whose keepers died |
//! | `whereabouts` | which host and which boot a job belongs to |
//! | `connection` | requests to a job's keeper |
//! | `descriptors` | enough file descriptors for many connections |
//! | `naming` | which job a name means |
//! | `twin` | finding a running job with the same command |
//! | `hold` | keeping a job from being pruned |

pub(crate) mod connection;
pub(crate) mod descriptors;
pub(crate) mod hold;
pub(crate) mod job;
pub(crate) mod naming;
pub(crate) mod presence;
pub(crate) mod twin;
pub(crate) mod whereabouts;
