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
mod sandbox;

use outlive::SignalMask;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

fn main() -> ExitCode {
    // If there is no keeper beside this program, it is its own keeper and is started under that name.
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

/// Runs the command on a second thread, whose stack `ulimit -s` does not limit. That limit is meant for the job, which
/// inherits it unchanged.
///
/// Only the second thread receives signals. It blocks some to read them later; if the first thread did not block them
/// too, it would get them.
fn with_own_stack() -> ExitCode {
    const STACK: usize = 4 << 20;
    let mask = outlive::block_all_signals().ok();
    let run = move || {
        let _ = mask.map(SignalMask::restore);
        args::run()
    };
    match thread::Builder::new().stack_size(STACK).spawn(run) {
        // The panic has already printed its message.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        // Without a second thread the small stack may still be enough.
        Err(_) => run(),
    }
}
