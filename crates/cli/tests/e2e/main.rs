//! Black-box tests: the real programs, real processes, real kills.
//!
//! Each module holds one promise; `world`, `scripts`, `processes`, `checks` and `trace` hold what
//! their tests have in common. Each test has a home of its own and leaves no process behind.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]

#[macro_use]
mod needs;

mod adoption;
mod attaching;
mod awaiting;
mod basics;
mod bounded;
mod checks;
mod compat;
mod detach;
mod doorbells;
mod ending;
mod foreground;
mod hints;
mod hosts;
mod inbox;
mod kit;
mod launch;
mod listing;
mod locks;
mod mcp;
mod pair;
mod processes;
mod pruning;
mod refused;
mod scarcity;
mod scripts;
mod searching;
mod service;
mod stdin;
mod stopping;
mod suspended;
mod terminal;
mod text;
mod trace;
mod verbs;
mod waiting;
mod watching;
mod world;
