//! The two processes of a job, the keeper and its standby: how they are created, and taking over.
//!
//! | module | owns |
//! |---|---|
//! | [`enter`] | how the two processes come about, and taking over |
//! | [`standby`] | the process that sleeps until the keeper is gone |
//! | [`partner`] | making a new standby when there is none |
//! | [`shared`] | what both processes hold |
//! | [`front`] | the foreground manner: for batch engines, and as the first process of a container |

pub(crate) mod enter;
pub(crate) mod front;
pub(crate) mod partner;
pub(crate) mod shared;
pub(crate) mod standby;
