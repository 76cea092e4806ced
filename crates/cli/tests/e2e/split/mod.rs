//! `--streams split`: the stdout and the stderr of a job are told apart, each byte exactly, whatever happens to the
//! keepers.

mod bounded;
mod copying;
mod kills;
mod lingering;
mod models;
mod reading;

use outlive_testkit::scripts;
use outlive_testkit::world::World;

/// Functions for the script of a job. `said N` waits until the keeper has taken N bytes.
const SAID: &str = "said() { until [ \"$(stat -c %s \"$OUTLIVE_JOB_DIR/output\")\" -ge \"$1\" ]; do sleep 0.002; done; }; ";

/// Starts a job with split streams, which may wait for `$GO`; returns its id.
fn start(world: &World, options: &[&str], script: &str) -> String {
    let split = ["run", "--streams", "split"];
    scripts::ok(world, &[&split, options, &["--shell", script]].concat())
}

/// Runs a job with split streams to its end; returns its id.
fn ended(world: &World, options: &[&str], script: &str) -> String {
    let id = start(world, options, script);
    world.wait(&id);
    id
}

/// Everything that is kept of one stream.
fn stream(world: &World, id: &str, which: &str) -> Vec<u8> {
    let ran = world.outlive(&["log", id, which, "--raw", "--bytes", "0"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.bytes
}

fn text(world: &World, args: &[&str]) -> String {
    let ran = world.outlive(args);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

/// The lines `<letter>1` to `<letter><last>`.
fn lines(letter: char, last: u64) -> Vec<u8> {
    let lines = (1..=last).map(|number| format!("{letter}{number}\n"));
    lines.collect::<String>().into_bytes()
}
