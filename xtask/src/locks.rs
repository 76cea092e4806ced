//! Checks that the lock file of the libFuzzer targets follows the workspace.
//!
//! `fuzz/libfuzzer` is a workspace of its own, because it is built with other flags. So nothing else updates its lock
//! file when a dependency goes.

use std::collections::BTreeSet;
use std::fs;

const OURS: &str = "Cargo.lock";
const FUZZERS: &str = "fuzz/libfuzzer/Cargo.lock";
/// The crates that only the targets need.
const FUZZERS_OWN: [&str; 3] = ["jobserver", "libfuzzer-sys", "outlive-libfuzzer"];

pub fn check() -> Result<(), String> {
    let (ours, fuzzers) = (names(OURS)?, names(FUZZERS)?);
    let is_left = |name: &&String| !ours.contains(*name) && !FUZZERS_OWN.contains(&name.as_str());
    let left: Vec<&str> = fuzzers.iter().filter(is_left).map(String::as_str).collect();
    match left.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{FUZZERS} has crates that {OURS} has not: {}\nWrite it again: cp {OURS} {FUZZERS}, then \
             cargo metadata --manifest-path fuzz/libfuzzer/Cargo.toml >/dev/null",
            left.join(", ")
        )),
    }
}

/// The names of the packages in a lock file.
fn names(file: &str) -> Result<BTreeSet<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let name = |line: &str| {
        Some(
            line.strip_prefix("name = \"")?
                .strip_suffix('"')?
                .to_owned(),
        )
    };
    Ok(text.lines().filter_map(name).collect())
}
