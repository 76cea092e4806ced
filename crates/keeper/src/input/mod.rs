//! The job's input.
//!
//! | module | owns |
//! |---|---|
//! | [`writes`] | serving writes, in order |
//! | [`channel`] | the job's input, and its terminal |
//! | [`spool`] | input accepted and not delivered yet |
//! | [`typing`] | typing into a terminal so that nothing is cut |

pub(crate) mod channel;
pub(crate) mod spool;
pub(crate) mod typing;
pub(crate) mod writes;
