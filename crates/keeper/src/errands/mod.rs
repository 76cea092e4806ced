//! Processes that work for the keeper.
//!
//! | module | owns |
//! |---|---|
//! | [`errand`] | one such process |
//! | [`dispatch`] | sending them and taking their results |
//! | [`ringing`] | doorbells |
//! | [`lock_wait`] | waiting for a named lock |
//! | [`keep_awake`] | keeping the machine from sleeping |

pub(crate) mod dispatch;
pub(crate) mod errand;
pub(crate) mod keep_awake;
pub(crate) mod lock_wait;
pub(crate) mod ringing;
