//! Running one command after another, each shown before it runs.

use std::process::{Command, Stdio};

/// Runs a command that must succeed.
pub fn run(program: &str, args: &[&str]) -> Result<(), String> {
    println!("\n> {program} {}", args.join(" "));
    let status = Command::new(program)
        .args(args)
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program} {} failed: {status}", args.join(" "))),
    }
}

/// Whether a command is there and answers.
pub fn answers(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
