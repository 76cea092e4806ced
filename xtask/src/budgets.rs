//! `cargo xtask budgets`: what may not grow, counted on the programs as they ship.

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

/// The tests of the budgets, which are left out where the programs are not built.
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
