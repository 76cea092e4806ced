//! `cargo xtask order`: writes down, for the linker, which functions a launch goes through.

use crate::{install, step};
use std::process::Command;

/// Where the lists are, which the build of the programs reads.
const OUT: &str = "crates/cli/link";

pub fn order() -> Result<(), String> {
    let target = install::static_target()
        .filter(|target| target.starts_with("x86_64"))
        .ok_or("the order is of the static x86-64 programs, which cannot be built or run here")?;
    let programs = install::target_dir().join("order");
    let build = ["build", "--release", "--locked", "--target", target];
    let packages = ["-p", "outlive-cli", "-p", "outlive-bench"];
    // Apart from what ships, which has no symbols.
    step::run_command(
        Command::new("cargo")
            .args(build)
            .args(packages)
            .env("CARGO_PROFILE_RELEASE_STRIP", "none")
            .env("CARGO_TARGET_DIR", &programs),
    )?;
    let programs = programs.join(target).join("release");
    step::run_command(
        Command::new(programs.join("outlive-bench"))
            .arg("order")
            .args([programs.as_os_str(), OUT.as_ref()]),
    )
}
