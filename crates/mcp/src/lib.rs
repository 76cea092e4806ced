//! The verbs of Outlive as tools of an MCP server, for agents.
//!
//! ```text
//!   a request ─► identity: whose call is it ─► tools/: one verb, on a blocking thread ─► reply
//!                                                          away: what the session has not been told ─┤
//!   the reply is written ◄─ delivery: only then is it noted that all of it was told ◄────────────────┘
//! ```
//! | module | owns |
//! |---|---|
//! | `server` | the handshake, the list of tools, one request from its arrival to its reply |
//! | `identity` | which session calls; ids that a repeated call gives again |
//! | `call` | what a tool gets: the home on behalf of its session, patience, progress |
//! | `tools` | one tool, one file |
//! | `resources` | the outputs of jobs, for user interfaces |
//! | `tasks` | foreground calls that outlast the client's patience |
//! | `subscriptions` | outputs that grow |
//! | `away` | "while you were away": events appended to any reply |
//! | `delivery` | what is noted once a reply is out |
//! | `stdio`, `http` | the two ways to reach it |
//! | `sessions` | the transport's sessions over HTTP, which older clients have |
//! | `schema` | schemas that every client takes |
//! | `answer`, `words` | jobs as structured content, and as text |
//!
//! What it does not do: it keeps no jobs. A server that ends, however it ends, changes nothing about
//! them, and the next one of the same session finds them.
#![forbid(unsafe_code)]

mod answer;
mod away;
mod call;
mod delivery;
#[doc(hidden)]
pub mod fuzzing;
mod glances;
mod http;
mod identity;
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

pub use http::{Http, Listening, serve_http, serve_http_within};
pub use server::{Options, Server};
pub use stdio::serve;
