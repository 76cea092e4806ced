//! Black-box tests: the real programs, real processes, real kills.
//!
//! Each module tests one promise. What the modules share is in `crates/testkit`. Each test has a home of its
//! own and leaves no process behind.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]

#[macro_use(needs)]
extern crate outlive_testkit;

mod adopting;
mod adoption;
mod after;
mod attaching;
mod awaiting;
mod basics;
mod bootstrap;
mod bounded;
mod changing;
mod compat;
mod courier;
mod defaults;
mod detach;
mod doorbells;
mod ending;
mod environment;
mod far;
mod features;
mod foreground;
mod hints;
mod hosts;
mod http;
mod inbox;
mod interrupted;
mod kit;
mod launch;
mod library;
mod limiting;
mod listing;
mod locks;
mod mcp;
mod naming;
mod one_shot;
mod pair;
mod placed;
mod places;
mod posing;
mod pruning;
mod queues;
mod redaction;
mod refused;
mod restarting;
mod retention;
mod rpc;
mod scarcity;
mod searching;
mod service;
mod split;
mod stdin;
mod stopping;
mod suspended;
mod terminal;
mod text;
mod verbs;
mod waiting;
mod watching;
