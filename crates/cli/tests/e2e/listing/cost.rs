//! The cost of `list` depends on how many jobs it shows, not on how many there are.

use super::{day, ended};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::trace::strace;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::io::Write;

#[test]
fn listing_costs_the_same_with_ten_thousand_ended_jobs_as_with_ten() {
    needs!(Strace);
    let few = World::new();
    let many = World::new();
    for (world, count) in [(&few, 10), (&many, 10_000)] {
        crowd(world, count);
        sleeper(world, &["--session", "s"]);
        sleeper(world, &[]);
    }
    let running = ["list", "--state", "running"];
    for (args, more) in [
        (&running[..], 5),
        (&[&running[..], &["--json"]].concat(), 5),
        (&[&running[..], &["--session", "s"]].concat(), 5),
        // All ends of a day are in one file. A larger file takes more reads.
        (&["list", "--limit", "5"], 40),
    ] {
        let (a, b) = (calls(&few, args), calls(&many, args));
        assert!(a > 20, "the trace is empty");
        assert!(
            b <= a + more,
            "{args:?}: {a} calls with 10, {b} with 10,000"
        );
    }
    assert_eq!(many.listed(&["--limit", "500"]).len(), 2 + 500);
}

/// How many system calls this command takes.
fn calls(world: &World, args: &[&str]) -> usize {
    let trace = world.path("trace");
    let ran = Ran::of(&mut strace(&world.command(args), &trace, &["-f"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    fs::read_to_string(trace).unwrap().lines().count()
}

/// Makes this many ended jobs quickly: one job with many IDs.
fn crowd(world: &World, count: usize) {
    let model = ended(world, &[]);
    let mut history = String::new();
    for n in 0..count {
        let id = format!("old{n:05}");
        std::os::unix::fs::symlink(&model, world.job_dir(&id)).unwrap();
        history.push_str(&format!("1 {id}\n"));
    }
    let mut day = File::options().append(true).open(day(world)).unwrap();
    day.write_all(history.as_bytes()).unwrap();
}
