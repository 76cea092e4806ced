//! Rings doorbells: tells a web server, a desktop or a command that a job has ended.
//!
//! ```text
//! configuration, --on-end ──resolve──► commands in the spec ──► the keeper runs them
//!                                                                 │ webhook, desktop
//!                          a web server, a desktop ◄──ring── `outlive doorbell ring NAME`
//! ```
//!
//! The library `outlive` resolves the configuration; this crate rings. It is a crate of its own because it
//! needs TLS, and programs that embed the library should not link that.
//!
//! A doorbell only says that there is news; the inbox is the truth. So the keeper retries a doorbell that
//! failed for a while and then gives up, and a doorbell that rings twice does no harm: every event has an id.
//!
//! | module | contains |
//! |---|---|
//! | `ring` | rings a doorbell by its name |
//! | `event` | the fields of an event that a doorbell reads |
//! | `webhook` | posts the event to a web server |
//! | `signature`, `secret` | prove to that server who posted it |
//! | `trust` | the certificate authorities to trust |
//! | `desktop` | shows a notification on this machine's desktop |
//! | `program` | runs a command with the event |
//! | `error` | why a doorbell did not ring |
#![forbid(unsafe_code)]

mod desktop;
mod error;
mod event;
mod program;
mod ring;
mod secret;
mod signature;
mod trust;
mod webhook;
#[cfg(test)]
mod webhook_tests;

pub use error::{Error, NotRung};
pub use event::{MAX_EVENT, in_full};
pub use ring::{become_command, ring, sample};
/// For programs that speak to a web server themselves.
pub use secret::read as read_secret;
pub use trust::roots;
