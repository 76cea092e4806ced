//! `cargo xtask places [WORD]…`: jobs at places, at length.

use crate::{step, tools};

/// Builds the programs and runs the long tests whose names contain one of these words; all, if there is none.
pub fn places(args: &[String]) -> Result<(), String> {
    if let Some(option) = args.iter().find(|arg| arg.starts_with('-')) {
        return Err(format!(
            "cargo xtask places takes words of names, not {option}"
        ));
    }
    tools::prepare_for_places(tools::Install::OnCi)?;
    step::run(
        "cargo",
        &["build", "--locked", "--package", "outlive-cli", "--bins"],
    )?;
    // The table of promises at the places whose cases are not part of every run, and what is about places alone.
    for test in ["conformance", "places"] {
        let mut words = vec![
            "test",
            "--locked",
            "--package",
            "outlive-cli",
            "--test",
            test,
            "--",
            "--nocapture",
            "--test-threads=1",
        ];
        words.push(match test {
            "conformance" => "--ignored",
            _ => "--include-ignored",
        });
        words.extend(args.iter().map(String::as_str));
        step::run("cargo", &words)?;
    }
    Ok(())
}
