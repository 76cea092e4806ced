//! `cargo xtask sanitize`: runs the tests of the crates that access memory directly, with
//! AddressSanitizer.
//!
//! It finds errors that a test alone does not, such as reads after the end of a buffer or of freed
//! memory. It needs a nightly compiler.

use crate::{install, step};
use std::process::Command;

/// `sys` contains all `unsafe` code; the others call it in the important ways.
const ALL: [&str; 3] = ["outlive-sys", "outlive-keeper", "outlive-core"];
/// Cheap enough for every run of the tests: half a minute from scratch. The keeper's tests alone take
/// 90 seconds, because they compile many patterns.
pub const QUICK: [&str; 1] = ["outlive-sys"];

pub fn sanitize() -> Result<(), String> {
    check(&ALL)
}

/// Runs the tests of these crates, if a nightly toolchain is installed.
pub fn check(packages: &[&str]) -> Result<(), String> {
    if !step::answers("cargo", &["+nightly", "--version"]) {
        println!("\nNOT RUN: sanitize (no nightly toolchain)");
        return Ok(());
    }
    // Naming the target keeps the sanitizer out of build scripts.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new("cargo");
    command.args([
        "+nightly", "test", "--locked", "--tests", "--target", &target,
    ]);
    command.args(packages.iter().flat_map(|package| ["-p", package]));
    step::run_command(
        command
            .env("RUSTFLAGS", "-Zsanitizer=address")
            // What a test does not free before it ends is not a memory error.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("CARGO_TARGET_DIR", install::target_dir().join("sanitize")),
    )
}
