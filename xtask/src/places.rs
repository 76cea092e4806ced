//! `cargo xtask places [WORD]…`: jobs at places, at length.

use crate::{step, tools};

/// Builds the programs and runs the long tests whose names contain one of these words; all, if there is none.
pub fn places(args: &[String]) -> Result<(), String> {
    if let Some(option) = args.iter().find(|arg| arg.starts_with('-')) {
        return Err(format!(
            "cargo xtask places takes words of names, not {option}"
        ));
    }
    tools::prepare(tools::Install::OnCi)?;
    step::run(
        "cargo",
        &["build", "--locked", "--package", "outlive-cli", "--bins"],
    )?;
    let mut words = vec![
        "test",
        "--locked",
        "--package",
        "outlive-cli",
        "--test",
        "places",
        "--",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ];
    words.extend(args.iter().map(String::as_str));
    step::run("cargo", &words)?;
    conformance(args)
}

/// The rows of the conformance table that are not checked each time. Each has a world of its own, so two run at once.
fn conformance(args: &[String]) -> Result<(), String> {
    let mut words = vec![
        "test",
        "--locked",
        "--package",
        "outlive-cli",
        "--test",
        "conformance",
        "--",
        "--ignored",
        "--test-threads=2",
    ];
    words.extend(args.iter().map(String::as_str));
    step::run("cargo", &words)
}
