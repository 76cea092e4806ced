//! Who may talk to Outlive over HTTP. Whoever can do that can run commands, so the servers of all faces ask here.
//!
//! ```text
//!   a connection ─► door: how long it may stay without a token
//!   a request ─► source: which host it names, and which web page sent it ─┐
//!             └► token: which of the server's tokens it brings ───────────┴─► guard: a pass, or a refusal
//! ```
//!
//! | module | contains |
//! |---|---|
//! | `door` | accepting connections, and closing those that never show a token |
//! | `guard` | what is asked of a request, and what its token allows |
//! | `source` | host names and web pages |
//! | `token` | making, reading and comparing tokens |
#![forbid(unsafe_code)]

mod door;
mod guard;
mod source;
mod token;

pub use door::{Door, Visitor};
pub use guard::{Carried, Guard, Pass, Refusal, Rights};
pub use source::{Pages, is_loopback_name};
pub use token::{Token, make_token, read_token};
