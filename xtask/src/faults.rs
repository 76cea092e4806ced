//! `cargo xtask faults [--long] [--only ROW] [--case CASE] [--seed N]`: breaks Outlive on purpose.

use crate::step;
use std::path::PathBuf;

const BUILD: [&str; 9] = [
    "build",
    "--locked",
    "--package",
    "outlive-cli",
    "--bins",
    "--package",
    "outlive-faults",
    "--package",
    "outlive-fuzz",
];

pub fn faults(args: &[String]) -> Result<(), String> {
    step::run("cargo", &BUILD)?;
    let programs = programs()?;
    let faults = programs.join("outlive-faults");
    let mut words = vec![in_utf8(&programs)?];
    words.extend(args.iter().map(String::as_str));
    step::run(in_utf8(&faults)?, &words)
}

/// The directory where cargo puts programs: that of this program.
fn programs() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    own.parent()
        .map(PathBuf::from)
        .ok_or_else(|| format!("{} is nowhere", own.display()))
}

fn in_utf8(path: &std::path::Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("{} is not UTF-8", path.display()))
}
