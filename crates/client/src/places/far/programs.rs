//! Removes our programs of other versions, which lie beside this one under the names `far-<digest>`.

use crate::error::Error;
use outlive_sys::tree;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A program that was just placed may be about to be started.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// Removes those that no process runs. Returns their names.
pub fn clean() -> Result<Vec<String>, Error> {
    let failed = || Error::io("cannot look at", "/proc/self/exe");
    let own = fs::read_link("/proc/self/exe").map_err(failed())?;
    let Some(directory) = own.parent().filter(|_| is_program(own.file_name())) else {
        // Whoever installed this by hand also removes it.
        return Ok(Vec::new());
    };
    clean_in(directory, &running().map_err(failed())?).map_err(Error::io("cannot clean", directory))
}

/// The files that processes of this user run. Those of other users cannot be read, and run nothing of ours.
fn running() -> io::Result<HashSet<(u64, u64)>> {
    let mut running = HashSet::new();
    for pid in tree::all()? {
        if let Ok(file) = fs::metadata(format!("/proc/{pid}/exe")) {
            running.insert((file.dev(), file.ino()));
        }
    }
    Ok(running)
}

fn clean_in(directory: &Path, running: &HashSet<(u64, u64)>) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(file) = entry.metadata() else {
            continue;
        };
        let is_fresh = file.modified().is_ok_and(|modified| {
            let age = SystemTime::now().duration_since(modified);
            age.is_ok_and(|age| age < FRESH)
        });
        let runs = running.contains(&(file.dev(), file.ino()));
        if !file.is_file() || !is_program(Some(&entry.file_name())) || is_fresh || runs {
            continue;
        }
        if fs::remove_file(entry.path()).is_ok() {
            removed.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    removed.sort();
    Ok(removed)
}

fn is_program(name: Option<&OsStr>) -> bool {
    let digest = name
        .and_then(OsStr::to_str)
        .and_then(|name| name.strip_prefix("far-"));
    digest.is_some_and(|digest| {
        // What was left when an upload was killed.
        let digest = digest
            .split_once(".part-")
            .map_or(digest, |(digest, _)| digest);
        digest.len() >= 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_old_programs_that_nobody_runs_are_removed() {
        let world = tempfile::tempdir().unwrap();
        let name = |digit: &str| format!("far-{}", digit.repeat(64));
        let long_ago = SystemTime::now() - 2 * FRESH;
        let part = format!("{}.part-x", name("d"));
        for file in [&name("a"), &name("b"), &part, "far-notes", "precious"] {
            let file = File::create(world.path().join(file)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        File::create(world.path().join(name("c"))).unwrap();
        let runs = fs::metadata(world.path().join(name("b"))).unwrap();
        let running = HashSet::from([(runs.dev(), runs.ino())]);
        assert_eq!(clean_in(world.path(), &running).unwrap(), [name("a"), part]);
        assert_eq!(fs::read_dir(world.path()).unwrap().count(), 4);
    }
}
