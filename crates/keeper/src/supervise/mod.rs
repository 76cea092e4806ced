//! The keeper at work: its loop, what wakes it, stopping the job and recording its end.
//!
//! | module | owns |
//! |---|---|
//! | [`keeper`] | the loop: every source becomes a [`wake::Wake`], handled in order |
//! | [`kept_job`] | the job: what was asked for, what the pair shares, the journal |
//! | [`wake`] | what a keeper sleeps on |
//! | [`timing`] | the timer, and the pause after a failure |
//! | [`serving`] | answering the clients that are connected |
//! | [`clients`] | who is connected, and what they wait for |
//! | [`stopping`] | how far a stop has come |
//! | [`escalation`] | TERM, grace, KILL until no process is left |
//! | [`guard`] | the same, for a keeper that a slow disk holds up |
//! | [`end`] | noticing the leader's end, and recording it once |
//! | [`tail`] | what is left after the end |
//! | [`ending`] | drain, sync, record, publish |
//! | [`memory`] | noticing that the job has run out of memory |
//! | [`ledger`] | the journal, with room set aside for the end |

pub(crate) mod attempts;
pub(crate) mod clients;
pub(crate) mod end;
pub(crate) mod ending;
pub(crate) mod escalation;
pub(crate) mod guard;
pub(crate) mod keeper;
pub(crate) mod kept_job;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod serving;
pub(crate) mod stopping;
pub(crate) mod tail;
pub(crate) mod timing;
pub(crate) mod wake;
