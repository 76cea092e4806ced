//! The verbs of Outlive over one pipe, for a harness that has many jobs: `outlive rpc`.
//!
//! ```text
//!  stdin ─► decoder ─► server ─┬─► pool: one call, one thread ──────────────┬─► out ─► stdout
//!                              └─► desk: everything that waits, one thread ─┘
//! ```
//!
//! | module | contains |
//! |---|---|
//! | `decoder`, `salvage` | bytes become messages, and what is no message gets an answer with its id |
//! | `server` | what becomes of each message, from its arrival to its answer |
//! | `under_way` | the requests that are not answered yet: flow control, and cancelling |
//! | `calls` | the verbs that answer by themselves, and where they are looked up |
//! | `desk` | waits, outputs, inboxes and lists that are followed: all of them share one loop and its connections |
//! | `pool` | the threads that calls run on |
//! | `files` | how many calls run at once, so that files can be opened for all of them |
//! | `lends` | the sandboxes that the harness lends, by their requests |
//! | `receipts` | answers that tell something, until the harness says that it has read them |
//! | `out` | writes answers, each in one piece |
//!
//! The server keeps nothing. If it is killed, the next one goes on: an output from a byte offset, events because a
//! claim ends with the process that made it, a start because its id is taken. Its memory is bounded although a harness may
//! read slowly: what cannot be written is not read either. The messages are those of `outlive_api::rpc`, and
//! `docs/rpc.md` explains them.
#![forbid(unsafe_code)]

mod calls;
#[doc(hidden)]
pub mod decoder;
mod desk;
mod files;
mod lends;
mod out;
mod pool;
mod receipts;
mod salvage;
mod server;
mod under_way;

pub use calls::verbs;
pub use server::serve;
