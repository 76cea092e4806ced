//! The job's output: taking it, storing it, indexing it and copying it.
//!
//! | module | owns |
//! |---|---|
//! | [`taking`] | taking the output, a stride at a time |
//! | [`capture`] | the job's output, byte for byte |
//! | [`flow`] | how much of it gathers before it is taken |
//! | [`split`], [`switches`] | two feeds, and which bytes came from which |
//! | [`store`] | the files it goes to, and giving back its middle |
//! | [`indexing`] | marks at lines and moments of the output |
//! | [`mirror`] | the caller's own log |
//! | [`copying`] | copying the output to standard output, in the foreground manner |

pub(crate) mod capture;
pub(crate) mod copying;
pub(crate) mod flow;
pub(crate) mod indexing;
pub(crate) mod mirror;
pub(crate) mod split;
pub(crate) mod store;
pub(crate) mod switches;
pub(crate) mod taking;
