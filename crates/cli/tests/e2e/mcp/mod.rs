//! The MCP server: jobs outlive it, and each end is told once, even if servers are killed.

mod beside_hooks;
mod brief;
mod changing;
pub mod client;
mod codex;
mod habits;
mod handshake;
mod http;
mod options;
mod places;
mod resources;
mod sessions;
mod subscriptions;
mod tasks;
mod telling;
mod tools;
mod transport;
mod waiting;
