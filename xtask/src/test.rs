//! Everything CI runs.

use crate::{budgets, faults, layers, sanitize, step};

/// Programs the end-to-end tests use besides a shell, and the Debian packages they come from.
const TOOLS: [(&str, &[&str], &str); 4] = [
    ("strace", &["-V"], "strace"),
    ("mkfs.ext4", &["-V"], "e2fsprogs"),
    ("python3", &["-V"], "python3"),
    ("xz", &["--version"], "xz-utils"),
];

pub fn test() -> Result<(), String> {
    install_tools()?;
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
    test_all()?;
    sanitize::check(&sanitize::QUICK)?;
    // The same cases every time; whoever breaks it by hand tries others.
    faults::faults(&["--seed".to_owned(), "1".to_owned()])?;
    budgets::check()
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

fn install_tools() -> Result<(), String> {
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|(program, args, _)| !step::answers(program, args))
        .map(|(_, _, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    step::run("apt-get", &["update", "--quiet"])?;
    let mut args = vec!["install", "--quiet", "--yes", "--no-install-recommends"];
    args.extend(&missing);
    step::run("apt-get", &args)
}
