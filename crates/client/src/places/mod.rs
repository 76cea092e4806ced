//! Places: the same jobs on another machine.
//!
//! ```text
//!  here                                                there
//!  verbs ─► replica (journal), told                    home of the place: jobs/<id>/…   (the truth)
//!     │         ▲ appends                                ▲ files, control sockets
//!     └─socket─► courier ════════ wire ════════ far end ─┘──► keeper pair ──► job
//!               (one for each place)         (one for each wire)
//! ```
//! A job of a place has a directory here too. It holds what was asked for (`spec.json`), how its start went (`placed`),
//! a copy of its journal that only the courier appends to (`journal`), and who was told what (`told`). So every verb
//! that reads records works on it unchanged. What asks the keeper goes to the courier's socket in place of the job's,
//! and what reads the output asks the courier for its bytes.
//!
//! | module | owns |
//! |---|---|
//! | `settings` | a place, as its address and the configuration describe it |
//! | `unreached` | why nobody was reached |
//! | `records` | the files of a place and of a placed job here |
//! | `dial` | reaching a place through its courier, which is started on demand |
//! | `contact` | a moment for places to tell what is new, for verbs that never wait for a network |
//! | `ear` | listening to couriers, one connection for each place |
//! | `courier` | the process that holds the wire of a place |
//! | `transport` | the commands that reach a place |
//! | `bootstrap` | getting our program there and starting it, over one connection |
//! | `tunnel` | the same where only one command can be run at a time |
//! | `lend` | a sandbox that another program of this user has, and in which it executes for us |
//! | `far` | the other side: serves calls and streams at the place |

pub mod bootstrap;
pub(crate) mod contact;
pub mod courier;
pub mod dial;
pub(crate) mod ear;
pub mod far;
pub mod lend;
pub mod records;
pub mod settings;
pub mod transport;
pub mod tunnel;
pub mod unreached;

pub use outlive_core::place::Address;
pub use settings::{Calls, Place, Secrets, Settings};
pub use unreached::Unreached;
