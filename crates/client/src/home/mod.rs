//! The home directory that has all jobs.
//!
//! | module | owns |
//! |---|---|
//! | `outlive` | opening a home and finding jobs in it |
//! | `handle` | the verbs as methods |
//! | `bell` | waking processes that wait for news of an inbox, or of the whole home |
//! | `identity` | the name of this home for other machines |
//! | `serving` | where the home is served over HTTP, and with which tokens |
//! | `private` | whether a directory is one that only its owner can see and change |
//! | `relink` | restoring index entries that a power loss removed |

pub(crate) mod bell;
pub(crate) mod handle;
pub(crate) mod identity;
pub(crate) mod outlive;
mod private;
pub(crate) mod relink;
pub mod serving;
