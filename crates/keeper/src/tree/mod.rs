//! Which processes are the job's.
//!
//! | module | owns |
//! |---|---|
//! | [`members`] | the members of the tree, and signals to them |
//! | [`walk`] | finding them in /proc without missing one |
//! | [`observed`] | the tree, and how the keeper learns that a process has ended |
//! | [`polling`] | looking at processes whose ends the kernel does not report |
//! | [`foreign`] | the processes of a job that somebody else had started |
//! | [`host`] | which host this is |

pub(crate) mod foreign;
pub(crate) mod host;
pub(crate) mod members;
pub(crate) mod observed;
pub(crate) mod polling;
pub(crate) mod walk;
