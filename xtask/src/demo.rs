//! Shows a job from start to end, with the installed programs.

use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = "for step in 1 2 3; do echo step $step; sleep 0.5; done; exit 3";

/// The path of the `outlive` that cargo installed.
fn program() -> Result<PathBuf, String> {
    let root = std::env::var_os("CARGO_INSTALL_ROOT")
        .or_else(|| std::env::var_os("CARGO_HOME"))
        .map(PathBuf::from);
    let root = root.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let program = root.ok_or("no home directory")?.join("bin/outlive");
    match program.exists() {
        true => Ok(program),
        false => Err(format!(
            "{} is not there; run `cargo xtask install` first",
            program.display()
        )),
    }
}

/// The command as a user would type it.
fn shown(args: &[&str]) -> String {
    let quoted = |arg: &&str| match arg.contains(' ') {
        true => format!("'{arg}'"),
        false => (*arg).to_owned(),
    };
    args.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

pub fn demo() -> Result<(), String> {
    let program = program()?;
    let home = std::env::temp_dir().join(format!("outlive-demo-{}", std::process::id()));
    let show = |args: &[&str], code: i32| -> Result<(), String> {
        println!("\n$ outlive {}", shown(args));
        let status = Command::new(&program)
            .args(args)
            .env("OUTLIVE_HOME", &home)
            .status()
            .map_err(|error| error.to_string())?;
        match status.code() == Some(code) {
            true => Ok(()),
            false => Err(format!("that should have ended with {code}: {status}")),
        }
    };
    println!("\nA job outlives the command that starts it, and its end is known exactly:");
    let shown = show(&["run", "--name", "demo", "--shell", SCRIPT], 0)
        .and_then(|()| show(&["list"], 0))
        .and_then(|()| show(&["wait", "demo"], 3))
        .and_then(|()| show(&["log", "demo"], 0));
    let removed = std::fs::remove_dir_all(&home).map_err(|error| error.to_string());
    shown.and(removed)?;
    println!(
        "\nThat was a real background job: it printed, ended with 3, and `wait` gave its code."
    );
    println!("Installed: {}", program.display());
    Ok(())
}
