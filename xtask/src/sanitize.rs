//! `cargo xtask sanitize`: the tests of the crates that touch memory, with AddressSanitizer watching.
//!
//! It sees what a test alone does not: a read behind the end of a buffer, or of memory that was given back.
//! Only a nightly compiler has it.

use crate::{install, step};
use std::process::Command;

/// `sys` has all the `unsafe` there is; the others call it in the ways that matter.
const ALL: [&str; 3] = ["outlive-sys", "outlive-keeper", "outlive-core"];
/// What is cheap enough for every run of the tests: half a minute when nothing is built yet. The keeper's tests
/// take a minute and a half by themselves, for the many patterns that they compile.
pub const QUICK: [&str; 1] = ["outlive-sys"];

pub fn sanitize() -> Result<(), String> {
    check(&ALL)
}

/// Runs the tests of these crates, where a nightly toolchain is there.
pub fn check(packages: &[&str]) -> Result<(), String> {
    if !step::answers("cargo", &["+nightly", "--version"]) {
        println!("\nNOT RUN: sanitize (no nightly toolchain)");
        return Ok(());
    }
    // The sanitizer's own library is of this target; named, it leaves build scripts alone.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new("cargo");
    command.args([
        "+nightly", "test", "--locked", "--tests", "--target", &target,
    ]);
    command.args(packages.iter().flat_map(|package| ["-p", package]));
    step::run_command(
        command
            .env("RUSTFLAGS", "-Zsanitizer=address")
            // What a test leaves behind when it ends is no error of memory.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("CARGO_TARGET_DIR", install::target_dir().join("sanitize")),
    )
}
