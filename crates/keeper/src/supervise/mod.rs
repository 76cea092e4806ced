//! The keeper at work: its loop, what wakes it, stopping the job and recording its end.
//!
//! | module | owns |
//! |---|---|
//! | [`keeper`] | the loop: every source becomes a [`wake::Wake`], handled in order |
//! | [`wake`] | what a keeper sleeps on |
//! | [`serving`] | answering the clients that are connected |
//! | [`clients`] | who is connected, and what they wait for |
//! | [`escalation`] | TERM, grace, KILL until no process is left |
//! | [`guard`] | the same for a keeper that its disk holds up |
//! | [`rounds`] | looking at processes whose ends the kernel does not report |
//! | [`tail`] | what is left after the end |
//! | [`ending`] | drain, sync, record, publish |
//! | [`ledger`] | the journal, with room set aside for the end |

pub(crate) mod clients;
pub(crate) mod ending;
pub(crate) mod escalation;
pub(crate) mod guard;
pub(crate) mod keeper;
pub(crate) mod ledger;
pub(crate) mod rounds;
pub(crate) mod serving;
pub(crate) mod tail;
pub(crate) mod wake;
