//! The `outlive` command line: arguments → one verb → text or JSON.
//!
//! | module | owns |
//! |---|---|
//! | [`args`] | the command line as a whole |
//! | [`commands`] | one verb, one file: its arguments, its call, its words |
//! | [`context`] | what every command gets: the home, the session, where to print |
//! | [`exit`] | exit codes |
//! | [`render`] | jobs as lines and tables |
#![forbid(unsafe_code)]

mod args;
mod commands;
mod context;
mod exit;
mod hints;
mod json;
mod render;

use outlive::SignalMask;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

fn main() -> ExitCode {
    // Without a keeper beside it, this program is its own: it is then called by that name.
    let name = std::env::args_os().next().unwrap_or_default();
    if Path::new(&name).file_name() == Some(OsStr::new("outlive-keeper")) {
        std::process::exit(outlive_keeper::main(std::env::args_os()));
    }
    outlive::fail_at_file_size();
    match outlive::has_small_stack() {
        true => with_own_stack(),
        false => args::run(),
    }
}

/// On a thread, whose stack `ulimit -s` does not bound: that limit is meant for the job, which gets it as it is.
///
/// That thread alone gets signals. One that it blocks, to hear of it in its own time, would else come to this one.
fn with_own_stack() -> ExitCode {
    const STACK: usize = 4 << 20;
    let mask = outlive::block_all_signals().ok();
    let run = move || {
        let _ = mask.map(SignalMask::restore);
        args::run()
    };
    match thread::Builder::new().stack_size(STACK).spawn(run) {
        // A panic has been said by then.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        // It may do after all.
        Err(_) => run(),
    }
}
