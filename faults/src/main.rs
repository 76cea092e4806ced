//! Breaks Outlive on purpose, with its real programs, and shows that nothing is lost.
//!
//! `cargo xtask faults [--long] [--only ROW] [--case CASE] [--seed N]` builds the programs and runs this. The short
//! form tries a random part of each row's cases, with a seed that is printed; the long form tries all. A loss
//! names its case, which `--case` tries again.
//!
//! | module | owns |
//! |---|---|
//! | [`row`] | what a row is, which of its cases are tried, and the table |
//! | [`random`] | numbers that depend only on a seed |
//! | [`job`] | the jobs that faults happen to, and how each must end |
//! | [`invariants`] | what must hold after any fault |
//! | [`control`] | the row without a fault |
//! | [`syscalls`], [`errors`] | a process killed, or an error injected, at each of its system calls |
//! | [`clients`] | a client killed during its verb |
//! | [`power`] | a power loss at any moment |
//! | [`recorder`], [`crash`] | what a job does to files, and what may be left on the disk |
//! | [`strike`] | one case of a fault at a system call |
//! | [`plan`], [`tracer`] | the process that injects the fault, and its plan |
//! | [`calls`], [`subject`] | system calls, and which faults each can meet |
//! | [`disks`] | disks that are full, read-only, failing or frozen |
//! | [`refused`] | system calls that are refused |
//! | [`neighbours`] | hostile jobs, clocks that jump, pids that are reused |
//! | [`crowds`] | many jobs, many clients |
//! | [`rights`] | other users, and names from outside |
//! | [`fuzzing`] | decoders of outside bytes |
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to whoever runs it"
)]
#![cfg_attr(
    test,
    expect(clippy::unwrap_used, reason = "in a test, a panic is the answer")
)]

mod calls;
mod clients;
mod control;
mod crash;
mod crowds;
mod disks;
mod errors;
mod fuzzing;
mod invariants;
mod job;
mod neighbours;
mod plan;
mod power;
mod random;
mod recorder;
mod refused;
mod rights;
mod row;
mod strike;
mod subject;
mod syscalls;
mod tracer;

use row::{Context, Row};
use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str =
    "outlive-faults DIRECTORY-OF-THE-PROGRAMS [--long] [--only ROW] [--case CASE] [--seed N]";

/// All rows, family by family.
fn rows() -> Vec<Row> {
    let families = [
        control::rows(),
        syscalls::rows(),
        clients::rows(),
        errors::rows(),
        power::rows(),
        disks::rows(),
        refused::rows(),
        neighbours::rows(),
        crowds::rows(),
        rights::rows(),
        fuzzing::rows(),
    ];
    families.into_iter().flatten().collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, rest @ ..] = arguments.as_slice()
        && word == "--trace"
    {
        return match tracer::main(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // Report it to the process that planned this. That process may have ended.
                let _ = writeln!(io::stdout(), "{error}");
                ExitCode::FAILURE
            }
        };
    }
    match Context::of(&arguments) {
        Some(context) => match row::run(&context, &rows()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
