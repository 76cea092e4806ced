//! `cargo xtask install | demo | test | layers | portable | sanitize | sentences | faults | agents | budgets |
//! bench | places | vm`: the tasks of the workspace.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to whoever runs it"
)]

mod agents;
mod bench;
mod budgets;
mod demo;
mod faults;
mod install;
mod layers;
mod locks;
mod places;
mod portable;
mod sanitize;
mod sentences;
mod sizes;
mod step;
mod test;
mod tools;
mod vm;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask install   install outlive, outlive-keeper and outlive-far, and show a job from start to end
cargo xtask demo      show a job from start to end
cargo xtask test      everything CI runs: format, lints, layers, unit, property and end-to-end tests, faults;
                      with --install (or CI=true) it installs the Debian packages that the tests use
cargo xtask layers    check that no crate depends on what it must not know
cargo xtask portable  check that the crates that know no operating system compile for macOS
cargo xtask sanitize  run the tests of the crates that touch memory with AddressSanitizer (needs nightly)
cargo xtask sentences pick 40 sentences from help, messages, documents and module heads for a new reader: [--seed N]
cargo xtask faults    break Outlive on purpose and show that nothing is lost; --long tries every case
cargo xtask agents    show the MCP server and the kit with real clients, which it installs and removes again
cargo xtask budgets   check the programs as they ship: calls, memory, wake-ups and size, and servers under load
cargo xtask bench     measure Outlive against doing without and against its peers, which it installs:
                      [--short] [--only MEASURE]… [--out DIR] [--real-time]
cargo xtask places    run jobs on hosts whose links are cut, whose processes are killed and which crash: [WORD]…
                      (root; half an hour)
cargo xtask vm        show in a virtual machine what survives logouts, stops of units and restarts, and homes on
                      NFS: [--install] [--suite bookworm|trixie] [--dir DIR] [WORD…] (root; 20 minutes)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("install") => install::install(),
        Some("demo") => demo::demo(),
        Some("test") => test::test(&args[1..]),
        Some("layers") => layers::check().and_then(|()| locks::check()),
        Some("portable") => portable::check().map(drop),
        Some("sanitize") => sanitize::sanitize(),
        Some("sentences") => sentences::sentences(&args[1..]),
        Some("faults") => faults::faults(&args[1..]),
        Some("agents") => agents::agents(&args[1..]),
        Some("budgets") => budgets::check(),
        Some("bench") => bench::bench(&args[1..]),
        Some("places") => places::places(&args[1..]),
        Some("vm") => vm::vm(&args[1..]),
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
