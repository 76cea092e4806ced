//! Builds the programs for release, and installs them where cargo installs programs.

use crate::{demo, step};
use std::path::PathBuf;

/// The target whose programs start fastest and need no libraries, if it is available.
pub fn static_target() -> Option<&'static str> {
    let target = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "x86_64-unknown-linux-musl",
        ("linux", "aarch64") => "aarch64-unknown-linux-musl",
        _ => return None,
    };
    step::answers("rustup", &["target", "add", target]).then_some(target)
}

/// Installs the programs, then runs a demonstration.
pub fn install() -> Result<(), String> {
    let mut args = vec!["install", "--locked", "--force", "--path", "crates/cli"];
    match static_target() {
        Some(target) => args.extend(["--target", target]),
        None => println!("no static target can be had here; installing for this host"),
    }
    step::run("cargo", &args)?;
    demo::demo()
}

/// Builds a package in the way that `outlive-cli` is installed. Returns the directory of its programs.
pub fn build(package: &str) -> Result<PathBuf, String> {
    let target = static_target();
    let mut args = vec!["build", "--release", "--locked", "-p", package];
    args.extend(target.iter().flat_map(|target| ["--target", target]));
    step::run("cargo", &args)?;
    let programs = target.map_or_else(target_dir, |target| target_dir().join(target));
    Ok(programs.join("release"))
}

/// The directory where cargo builds.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}
