//! Runs commands one after another, and shows each before it runs.

use std::process::{Command, Stdio};

/// Runs a command that must succeed.
pub fn run(program: &str, args: &[&str]) -> Result<(), String> {
    run_command(Command::new(program).args(args))
}

/// Runs a prepared command that must succeed.
pub fn run_command(command: &mut Command) -> Result<(), String> {
    let words: Vec<_> = [command.get_program()]
        .into_iter()
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = words.join(" ");
    println!("\n> {shown}");
    let status = without_own_package(command)
        .status()
        .map_err(|error| format!("{shown}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{shown} failed: {status}")),
    }
}

/// What a command that must succeed prints.
pub fn output(program: &str, args: &[&str]) -> Result<String, String> {
    let output = without_own_package(Command::new(program).args(args))
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{program} {} failed: {}\n{}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Removes the variables that cargo sets for this program. A build script that reads them (ring's does)
/// would run again, and everything that depends on it would be rebuilt, whenever this program calls
/// cargo.
fn without_own_package(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Whether a command exists and succeeds.
pub fn answers(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}
