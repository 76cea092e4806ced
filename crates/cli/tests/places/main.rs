//! Places at length: hosts with a network of their own, links that are cut for minutes, hosts that crash, and a soak.
//!
//! `cargo xtask places` runs these tests, one after another, and prints what they count. They take half an hour, so the
//! others do not wait for them.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
#![expect(clippy::print_stdout, reason = "its counts are reported")]

#[macro_use(needs)]
extern crate outlive_testkit;

mod apptainer;
mod containers;
mod fixture;
mod hosts;
mod links;
mod soak;
mod via;
