//! `cargo xtask budgets`: checks the sizes and counts that may not grow, on the release programs.

use crate::{install, step};
use std::path::Path;
use std::process::Command;

pub fn check() -> Result<(), String> {
    if install::static_target().is_none() {
        println!("\nbudgets: of the static programs, which cannot be built here; not checked");
        return Ok(());
    }
    let programs = install::build("outlive-cli")?;
    let programs = std::path::absolute(&programs).map_err(|error| error.to_string())?;
    step::run_command(&mut tests(&programs))
}

/// The tests of the budgets. They are skipped if the programs are not built.
fn tests(programs: &Path) -> Command {
    let mut command = Command::new("cargo");
    command
        .args([
            "test",
            "--locked",
            "-p",
            "outlive-bench",
            "--",
            "--ignored",
            "--show-output",
        ])
        .env("OUTLIVE_PROGRAMS", programs);
    command
}
