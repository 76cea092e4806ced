//! Many jobs, listened to by one thread: what a server needs that follows outputs, inboxes and lists for others.
//!
//! ```text
//!            keepers ──┐                     ┌─► Waiting    the answer to a wait
//!  couriers of places ─┼─► Listener ─ news ──┼─► Following  an output, by byte cursor
//!    bell of the home ─┘   (sleeps)          ├─► Telling    the events of sessions
//!                                            └─► Changes    a list of jobs
//! ```
//!
//! The [`Listener`] has one connection for each running job that somebody wants news of, however many want them. The
//! others never wait: each has a step that reads what there is, and says of which jobs it [wants](Wanted) news then.
//! Their owner merges what they want, sleeps in the listener, and lets those continue whose job has news. So nothing
//! here is kept that is not on the disk, and whoever is killed goes on from a cursor or a claim.

mod changes;
mod listener;
mod telling;
mod wanted;

pub use crate::home::bell::Rung;
pub use crate::jobs::connection::Connection;
pub use crate::jobs::presence::Presence;
pub use crate::output::Following;
pub use crate::verbs::wait::Waiting;
pub use changes::{Change, Changes};
pub use listener::{Heard, Listener, Waker};
pub use outlive_core::{BootTime, State};
pub use telling::{Scope, Telling};
pub use wanted::{Next, Wanted};

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use outlive_core::JobId;
use std::time::Duration;

/// How long a keeper or a place may take to accept a connection.
const CONNECTING: Duration = Duration::from_millis(100);

/// How long a place may take to lead to a keeper of it.
pub(crate) const CONNECTING_FAR: Duration = Duration::from_secs(2);

/// The state of a job, and who keeps it. A job whose keepers were killed gets new ones.
pub fn meet(outlive: &Outlive, id: &JobId) -> Result<(Presence, State), Error> {
    presence::meet(outlive, id)
}

/// Connects to the keeper of a job of a place, for [`Listener::connected`]. This waits for a network.
pub fn connect_far(outlive: &Outlive, id: &JobId) -> Result<Option<Connection>, Error> {
    presence::reach_within(outlive, id, CONNECTING_FAR)
}
