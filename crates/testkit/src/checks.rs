//! Checks that several tests share, and running many cases at once.

use crate::waiting::until;
use crate::world::World;
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many cells run at the same time. It is more than the number of processors, because cells mostly wait for
/// processes.
const AT_ONCE: usize = 6;

/// Checks every cell, several at a time, and reports all that fail.
pub fn every<C: Sync>(cells: &[C], name: impl Fn(&C) -> String + Sync, check: impl Fn(&C) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(|| check(cell))) {
                let why = panic.downcast_ref::<String>().cloned();
                let why = why.unwrap_or_else(|| "(see above)".to_owned());
                failed
                    .lock()
                    .unwrap()
                    .push(format!("{}: {why}", name(cell)));
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {} cells failed:\n{}",
        failed.len(),
        cells.len(),
        failed.join("\n")
    );
}

/// The outcome of a job that exited.
pub fn exited(code: i32) -> Value {
    json!({ "kind": "exited", "code": code })
}

/// The outcome of a job that a signal ended.
pub fn signaled(signal: &str) -> Value {
    json!({ "kind": "signaled", "signal": signal, "core_dumped": false })
}

/// How each keeper of the job got it: launched, taken over or adopted.
pub fn keepings(world: &World, id: &str) -> Vec<String> {
    let word = |kept: &Value| kept["how"].as_str().unwrap().to_owned();
    world.events(id, "kept").iter().map(word).collect()
}

/// Waits until the output of the job is exactly this.
pub fn until_output(world: &World, id: &str, expected: &str) {
    until(&format!("{id} has written {expected:?}"), || {
        world.output(id) == expected.as_bytes()
    });
}

/// Waits until the output of the job contains this.
pub fn until_wrote(world: &World, id: &str, text: &str) {
    until(&format!("{id} wrote {text:?}"), || {
        String::from_utf8_lossy(&world.output(id)).contains(text)
    });
}

/// Waits until a file is as long as these bytes, and checks that it has them.
pub fn until_file(path: &Path, bytes: &[u8]) {
    until(&format!("{} is long enough", path.display()), || {
        fs::read(path).is_ok_and(|there| there.len() >= bytes.len())
    });
    assert_same_bytes(path.display(), &fs::read(path).unwrap(), bytes);
}

/// Checks that nothing is left of the job except its record.
pub fn assert_nothing_is_left(world: &World, id: &str) {
    until("no process is left", || world.processes().is_empty());
    let dir = world.job_dir(id);
    let link = world.home().join("live").join(id);
    until("feeds, control and live link are gone", || {
        let names = ["feed", "feed.err", "control"].map(|name| dir.join(name));
        let mut paths = names.iter().chain([&link]);
        paths.all(|path| path.symlink_metadata().is_err())
    });
}

/// Compares bytes without printing megabytes if they differ.
pub fn assert_same_bytes(what: impl Display, actual: &[u8], expected: &[u8]) {
    let same = actual
        .iter()
        .zip(expected)
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        actual == expected,
        "{what}: {} bytes for {}, the same up to {same}",
        actual.len(),
        expected.len()
    );
}
