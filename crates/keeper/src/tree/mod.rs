//! Which processes are the job's.
//!
//! | module | owns |
//! |---|---|
//! | [`members`] | the members of the tree, and signals to them |
//! | [`walk`] | finding them in /proc without missing one |
//! | [`host`] | which host this is |

pub(crate) mod host;
pub(crate) mod members;
pub(crate) mod walk;
