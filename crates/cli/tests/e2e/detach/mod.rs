//! `detach`: a job whose output is also appended to a file.

mod keep_awake;
mod killed_keepers;
mod log;

use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

fn read(path: &Path) -> String {
    String::from_utf8(fs::read(path).unwrap()).unwrap()
}

fn append(path: &Path, content: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(content.as_bytes()).unwrap();
}

/// Detaches a shell job, which must succeed; returns the pid that was printed.
fn detach(world: &World, id: &str, log: &Path, script: &str) -> i32 {
    let log = log.to_str().unwrap();
    let ran = world.outlive(&["detach", "--id", id, log, "--", "bash", "-c", script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let printed = ran.stdout.trim_end_matches('\n').to_owned();
    let (pid, path) = printed
        .strip_prefix("PID ")
        .and_then(|rest| rest.split_once(" LOG "))
        .unwrap_or_else(|| panic!("{printed:?}"));
    assert_eq!(path, log);
    pid.parse().unwrap()
}

/// Waits until the job is over. Then no output can follow, and the keepers have closed the log.
fn until_closed(world: &World, id: &str) {
    until("nothing of it is left", || {
        world.events(id, "closed").len() == 1 && !world.live(id).exists()
    });
}

/// Detaches a job that writes `first`, and does the rest once the file `go` exists. Returns once `first` is in the
/// log.
fn detach_in_two_parts(world: &World, id: &str, log: &Path, go: &Path, rest: &str) {
    let script = format!("echo first; {}; {rest}", loop_until(go));
    detach(world, id, log, &script);
    until("the first is there", || read(log) == "first\n");
}

/// Kills the keeper, and returns once the standby has taken over.
fn take_over(world: &World, id: &str) {
    let pair = world.pair(id);
    kill(pair.keeper, KILL);
    until("the standby has taken over", || {
        world.pair(id).keeper == pair.standby.unwrap()
    });
}
