//! The verbs of Outlive as tools of an MCP server, for agents.
//!
//! ```text
//!   a request ─► identity: whose call is it ─► tools/: one verb, on a blocking thread ─► reply
//!                                                          away: what the session has not been told ─┤
//!   the reply is written ◄─ delivery: only then is it recorded that all of it was told ◄─────────────┘
//! ```
//!
//! | module | contains |
//! |---|---|
//! | `server` | the handshake, the list of tools, and one request from its arrival to its reply |
//! | `identity` | which session calls, and how a repeated call is recognised |
//! | `call` | the context of a tool call: home, session, time limit, progress |
//! | `tools` | one tool per file |
//! | `resources` | the outputs of jobs, for user interfaces |
//! | `tasks` | foreground calls that take longer than the client waits |
//! | `subscriptions` | notifications about outputs that grow |
//! | `away` | "while you were away": events at the end of any reply |
//! | `delivery` | records what a reply told, after it was written |
//! | `stdio`, `http` | the two transports |
//! | `malformed` | the reply to what is no message |
//! | `sessions` | the HTTP sessions of older clients |
//! | `schema` | JSON Schemas that every client accepts |
//! | `arguments`, `habits` | what a model passes, and what it means by it |
//! | `answer`, `words` | jobs as structured content, and as text |
//!
//! The server keeps no jobs. However a server ends, its jobs go on, and the next server of the same
//! session finds them.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod away;
mod call;
mod delivery;
#[doc(hidden)]
pub mod fuzzing;
mod glances;
mod habits;
mod hints;
mod http;
mod identity;
mod malformed;
mod reply;
mod resources;
mod schema;
mod server;
mod sessions;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;
mod words;

pub use http::{Http, Listening, router, serve_http, serve_http_within};
pub use server::{Options, Server};
pub use stdio::serve;
