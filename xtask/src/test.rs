//! Runs everything that CI runs.

use crate::{budgets, faults, layers, locks, portable, sanitize, sizes, step, tools};

use std::process::Command;

pub fn test(args: &[String]) -> Result<(), String> {
    let install = match args {
        [] => tools::Install::OnCi,
        [option] if option == "--install" => tools::Install::OnRequest,
        _ => return Err("cargo xtask test takes --install and nothing else".to_owned()),
    };
    let mut missing = tools::prepare(install)?;
    step::run("cargo", &["fmt", "--all", "--check"])?;
    step::run(
        "cargo",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    layers::check()?;
    sizes::check()?;
    locks::check()?;
    step::run_command(
        Command::new("cargo")
            .args(["doc", "--workspace", "--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    missing.extend(portable::check()?);
    test_all()?;
    sanitize::check(&sanitize::QUICK)?;
    // Tests the same cases every time. A person who searches for errors can use other seeds.
    faults::faults(&["--seed".to_owned(), "1".to_owned()])?;
    budgets::check()?;
    for line in missing {
        println!("{line}");
    }
    Ok(())
}

fn test_all() -> Result<(), String> {
    match step::answers("cargo", &["nextest", "--version"]) {
        true => step::run(
            "cargo",
            &[
                "nextest",
                "run",
                "--workspace",
                "--locked",
                "--no-fail-fast",
            ],
        ),
        false => step::run(
            "cargo",
            &["test", "--workspace", "--locked", "--no-fail-fast"],
        ),
    }
}
