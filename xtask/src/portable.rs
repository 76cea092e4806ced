//! Checks that the crates that know no operating system compile for another one.
//!
//! They are only compiled, never run. This finds calls and types that exist only on Linux.

use crate::{step, tools};
use std::path::Path;
use std::process::Command;

/// Any system except Linux would do. This is the one that users have.
const TARGET: &str = "aarch64-apple-darwin";
/// Crates that must compile for [`TARGET`]: the folder below `crates` and the package name.
const PORTABLE: [(&str, &str); 2] = [("api", "outlive-api"), ("core", "outlive-core")];

/// Checks the crates. If that is not possible here, returns the reason.
pub fn check() -> Result<Option<String>, String> {
    if let Err(reason) = prepare_target() {
        let line = format!("NOT RUN: the check for {TARGET} ({reason})");
        println!("\n{line}");
        return Ok(Some(line));
    }
    let mut command = Command::new("cargo");
    command.args(["check", "--locked", "--target", TARGET]);
    for (folder, package) in PORTABLE {
        if Path::new("crates").join(folder).exists() {
            command.args(["-p", package]);
        }
    }
    step::run_command(&mut command)?;
    Ok(None)
}

/// Makes sure that the standard library of the target is installed. Only CI installs it: other machines
/// are not changed.
fn prepare_target() -> Result<(), String> {
    if is_installed()? {
        return Ok(());
    }
    let add = ["target", "add", TARGET];
    match tools::is_ci() {
        true => step::run("rustup", &add),
        false => Err(format!("install the target: rustup {}", add.join(" "))),
    }
}

fn is_installed() -> Result<bool, String> {
    let output = Command::new("rustup")
        .args(["target", "list", "--installed"])
        .output()
        .map_err(|error| format!("rustup: {error}"))?;
    let installed = String::from_utf8_lossy(&output.stdout);
    Ok(installed.lines().any(|target| target == TARGET))
}
