//! The verbs of Outlive over HTTP, and a web page on which a person uses them.
//!
//! ```text
//!   a request ─► visit: is it admitted, and what may it see ─┬─► verbs/: one verb, on a blocking thread ─► JSON
//!                                                            ├─► output: exact bytes or text, as they come
//!                                                            └─► events, metrics
//!   page: files that everybody may read, and the login that makes a cookie of a token
//! ```
//!
//! | module | contains |
//! |---|---|
//! | `server` | the routes, and what all requests share |
//! | `visit` | who asks, and what they get to see |
//! | `failure` | failures in the contract's shape, with a fitting status |
//! | `body` | reading a request, and writing an answer as it comes |
//! | `verbs` | one verb per file |
//! | `log`, `output` | output as text and as it is |
//! | `window` | lines with their colours, and a search through all of them |
//! | `hub` | one thread that listens to all jobs that are followed |
//! | `events` | what sessions have not been told, as it comes |
//! | `stream` | one WebSocket for everything that a page follows |
//! | `websocket` | its frames |
//! | `metrics` | counts for Prometheus |
//! | `openapi` | the description of all routes, made from their types |
//! | `page`, `tickets` | the files of the page, and the login |
//!
//! The server keeps nothing that matters. It can be killed at any time; the next one has the same port and the same
//! tokens, so that open pages go on. Nothing that it tells counts as told: acknowledging is a verb of its own.
#![forbid(unsafe_code)]

mod body;
mod events;
mod failure;
mod hub;
mod log;
mod metrics;
pub mod openapi;
mod output;
mod page;
mod server;
mod stream;
mod tickets;
mod verbs;
mod visit;
mod websocket;
mod window;

pub use server::{Http, Listening, serve};
