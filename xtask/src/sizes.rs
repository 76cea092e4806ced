//! What must not grow without a decision: the length of a source file, and what the library pulls in.

use crate::step;
use std::collections::BTreeSet;
use std::fs;

/// A longer file is hard to read in one go, and usually has two subjects.
const MAX_LINES: usize = 450;
/// How many crates a program gets that uses the library `outlive`, itself included. Each is code to trust, to
/// download and to compile.
const MAX_CRATES: usize = 70;

pub fn check() -> Result<(), String> {
    let long = long_files()?;
    if !long.is_empty() {
        return Err(format!(
            "these files have more than {MAX_LINES} lines; split them by subject:\n{}",
            long.join("\n")
        ));
    }
    let crates = crates_of_the_library()?;
    match crates.len() <= MAX_CRATES {
        true => {
            println!(
                "\nsizes: no source file above {MAX_LINES} lines; the library pulls in {} crates",
                crates.len()
            );
            Ok(())
        }
        false => Err(format!(
            "the library `outlive` pulls in {} crates, and {MAX_CRATES} is the limit:\n{}",
            crates.len(),
            crates.into_iter().collect::<Vec<_>>().join("\n")
        )),
    }
}

/// The tracked Rust files that are too long, each with its length.
fn long_files() -> Result<Vec<String>, String> {
    let listed = step::output("git", &["ls-files", "*.rs"])?;
    let mut long = Vec::new();
    for file in listed.lines() {
        // A file that was deleted and not committed yet is still listed.
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        let lines = text.lines().count();
        if lines > MAX_LINES {
            long.push(format!("{lines} {file}"));
        }
    }
    Ok(long)
}

/// The crates that a program gets with the library, in all versions.
fn crates_of_the_library() -> Result<BTreeSet<String>, String> {
    let tree = step::output(
        "cargo",
        &[
            "tree", "--locked", "-p", "outlive", "-e", "normal", "--prefix", "none", "-f", "{p}",
        ],
    )?;
    let name_and_version = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        (words.len() == 2).then(|| words.join(" "))
    };
    Ok(tree.lines().filter_map(name_and_version).collect())
}
