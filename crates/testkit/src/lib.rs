//! What the tests of Outlive share: the black-box tests (`crates/cli/tests`), `faults` and `bench`.
//!
//! | module | holds |
//! |---|---|
//! | [`world`] | a scratch home, and running the programs in it |
//! | [`records`] | reading what a job left in that home |
//! | [`keepers`] | the processes that keep a job: finding and killing them |
//! | [`place`], [`places`] | where a job runs: its processes and files there; the places that the tests make |
//! | [`tap`] | a place whose wire the test sees, cuts and disturbs, frame by frame |
//! | [`couriers`] | the processes that connect this machine with a place |
//! | [`programs`] | where the programs under test are |
//! | [`environment`] | which environment variables they get |
//! | [`ran`] | what a command exited with and printed |
//! | [`processes`] | signals, states and the end of processes on this machine |
//! | [`waiting`] | waiting until a condition holds, with a limit |
//! | [`scripts`], [`gate`] | scripts for jobs, and jobs that wait until the test lets them go on |
//! | [`checks`] | checks that several tests share, and checking many cases at once |
//! | [`namespaces`] | other PID namespaces, which stand in for other machines |
//! | [`trace`] | watching system calls |
//! | [`conformance`] | the promises as a table of cases that any place can be put to |
//! | [`wire_client`] | a courier that drives a far end frame by frame |
//! | [`mod@needs`] | skipping a test on a machine that lacks something |
//!
//! Most functions panic when they fail, as tests want it. Those with `try_` in their name return the
//! reason instead: `faults` and `bench` report it as the result of a row.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]

pub mod checks;
pub mod conformance;
pub mod couriers;
pub mod environment;
pub mod gate;
pub mod keepers;
pub mod namespaces;
pub mod needs;
pub mod place;
pub mod places;
pub mod processes;
pub mod programs;
pub mod ran;
pub mod records;
pub mod scripts;
pub mod tap;
pub mod trace;
pub mod waiting;
pub mod wire_client;
pub mod world;
