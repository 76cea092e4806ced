//! Installing both programs where cargo installs programs.

use crate::{demo, step};

/// The target whose programs start fastest and need no libraries, where it can be had.
fn static_target() -> Option<&'static str> {
    let target = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "x86_64-unknown-linux-musl",
        ("linux", "aarch64") => "aarch64-unknown-linux-musl",
        _ => return None,
    };
    step::answers("rustup", &["target", "add", target]).then_some(target)
}

/// Installs, then shows that it works.
pub fn install() -> Result<(), String> {
    let mut args = vec!["install", "--locked", "--force", "--path", "crates/cli"];
    match static_target() {
        Some(target) => args.extend(["--target", target]),
        None => println!("no static target can be had here; installing for this host"),
    }
    step::run("cargo", &args)?;
    demo::demo()
}
