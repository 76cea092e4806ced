//! The courier: holds the wire of one place.
//!
//! ```text
//!  clients ─► accept ─► a thread for each ─┐            ┌─► answers, relays ─► clients
//!                                          ├─► wire ─► reader
//!  contact: opens a wire when wanted ──────┘            └─► replicas ─► clerk: synced, acked, told
//! ```
//! It is started by the first client that needs it, and leaves a minute after the last one. While somebody listens, it
//! reaches the place again when the wire is lost. It keeps nothing that cannot be found again: killed at any moment, the
//! next one goes on with the files. So what it does is written down before anybody is told, and everything that it asks
//! of the place can be repeated.
//!
//! | module | owns |
//! |---|---|
//! | `enter` | becoming the courier of a place: on its own, locked, listening |
//! | `desk` | what the threads share: whether there is a wire, who wants one, who listens |
//! | `clients` | requests and their answers |
//! | `contact` | opening wires, and saying hello |
//! | `wire`, `outbox` | frames and streams; what is to be written |
//! | `ask` | one call |
//! | `relay` | a far stream that appears here |
//! | `journals` | the stream of journals; syncing and acking |
//! | `replicas` | the copies of far journals |
//! | `owed` | last acks that the place has not confirmed |
//! | `haste` | pauses before a job is asked about again whose streams end at once |
//! | `retries` | when a place that cannot be reached is tried again by itself |
//! | `containers` | jobs whose container was stopped, or exists no more |
//! | `last_look` | reading the journal of a job from a disk that is here, too |
//! | `starts`, `settling` | starts, and finding out about those that nobody knows of |
//! | `claims` | who decides about a start |
//! | `bells` | doorbells that ring here |
//! | `log` | what it says when nobody asks |
//!
//! Threads sleep until there is something to do. An idle courier wakes up for a ping every 15 s.

mod ask;
mod bells;
mod claims;
mod clients;
mod contact;
mod containers;
mod desk;
mod enter;
mod haste;
mod journals;
mod last_look;
mod log;
mod outbox;
mod owed;
mod relay;
mod replicas;
mod retries;
mod settling;
mod starts;
mod wire;

pub use bells::{remember as remember_bells, ring_now};
pub use enter::run;

use std::io;
use std::thread::Builder;

/// Enough for any request and answer. Only what is used is taken.
const STACK: usize = 512 * 1024;

fn thread(name: &str, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = Builder::new().name(name.to_owned()).stack_size(STACK);
    thread.spawn(act).map(drop)
}
