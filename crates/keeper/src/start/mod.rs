//! Starting a job: what a keeper begins with, and bringing the leader to its program.
//!
//! | module | owns |
//! |---|---|
//! | [`begin`] | a process becomes the keeper, starts the job or finds it again |
//! | [`confine`] | putting the job under its limits before it runs |
//! | [`delayed`] | starting a job that has waited for its lock |
//! | [`gate`] | forking the leader and letting it execute its program |
//! | [`leader`] | the job's first process and how it ended |
//! | [`findable`] | making the job's names last |
//! | [`tools`] | what a keeper begins with |

pub(crate) mod begin;
pub(crate) mod confine;
pub(crate) mod delayed;
pub(crate) mod findable;
pub(crate) mod gate;
pub(crate) mod leader;
pub(crate) mod tools;
