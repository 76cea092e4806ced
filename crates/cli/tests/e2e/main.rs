//! Black-box tests: the real programs, real processes, real kills.
//!
//! Each module holds one promise. Each test has a home of its own and leaves no process behind.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]

mod adoption;
mod attaching;
mod awaiting;
mod basics;
mod bounded;
mod detach;
mod ending;
mod launch;
mod listing;
mod pair;
mod pruning;
mod scarcity;
mod service;
mod stdin;
mod stopping;
mod terminal;
mod waiting;
mod world;
