//! `cargo xtask install | demo | test | layers`: what is done to the workspace itself.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to whoever runs it"
)]

mod demo;
mod install;
mod layers;
mod step;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask install   install outlive and outlive-keeper, and show a job from start to end
cargo xtask demo      show a job from start to end
cargo xtask test      everything CI runs: format, lints, layers, unit, property and end-to-end tests
cargo xtask layers    check that no crate depends on what it must not know";

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let done = match task.as_deref() {
        Some("install") => install::install(),
        Some("demo") => demo::demo(),
        Some("test") => test::test(),
        Some("layers") => layers::check(),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}
