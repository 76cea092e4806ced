//! At no moment does an output take more disk space than its bound and one step.

use super::ground::{ALL, Ground};
use super::{MIB, is_segmented, most, on_disk};
use outlive_core::bound::Bound;
use outlive_core::{JobDir, output};
use outlive_testkit::checks::every;
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::File;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Checks the disk space as often as possible until the job is over. Returns the number of checks.
fn watch(world: &World, id: &str, max: u64) -> u64 {
    let live = world.live(id);
    let start = Instant::now();
    let mut looks = 0;
    while live.symlink_metadata().is_ok() {
        assert!(start.elapsed() < PATIENCE, "it is never over");
        let used = on_disk(world, id);
        assert!(
            used <= most(max),
            "{used} bytes of {} on disk at look {looks}",
            most(max)
        );
        looks += 1;
    }
    looks
}

#[test]
fn the_output_never_grows_past_its_bound() {
    needs!(Root, Strace);
    every(
        &ALL,
        |ground| format!("{ground:?}"),
        |ground| {
            let place = ground.world("8m");
            let size = 300_000_000;
            // The pause lets the test start watching before the output comes.
            place.start(
                "x",
                "4M",
                &format!("sleep 0.2; yes abcdefghi | head -c {size}"),
            );
            let looks = watch(&place.world, "x", 4 * MIB);
            assert!(looks > 100, "it was over too soon to tell: {looks}");
            let job = place.world.wait("x");
            assert_eq!(job["output"]["bytes"], size);
            assert!(job["output"]["dropped_bytes"].as_u64().unwrap() > size - 5 * MIB);
            assert_eq!(is_segmented(&place.world, "x"), !ground.has_holes());
        },
    );
}

/// With the smallest bound, space is freed in the smallest steps, one page each. One read from the pipe can be larger.
#[test]
fn the_smallest_bound_is_never_exceeded() {
    needs!(Root, Strace);
    every(
        &ALL,
        |ground| format!("{ground:?}"),
        |ground| {
            let place = ground.world("4m");
            place.start("x", "128K", "sleep 0.2; head -c 20000000 /dev/zero");
            let looks = watch(&place.world, "x", 128 * 1024);
            assert!(looks > 50, "it was over too soon to tell: {looks}");
            assert_eq!(place.world.wait("x")["output"]["bytes"], 20_000_000);
        },
    );
}

/// Keepers are killed at several points of the output.
#[test]
fn a_keeper_that_took_over_keeps_the_bound() {
    needs!(Strace);
    every(
        &[Ground::Here, Ground::HereWithoutHoles],
        |ground| format!("{ground:?}"),
        |ground| {
            let place = ground.world("");
            let world = &place.world;
            let go = world.path("go");
            let end = loop_until(&go);
            place.start(
                "x",
                "16M",
                &format!("sleep 0.2; head -c 300000000 /dev/zero; {end}"),
            );
            std::thread::scope(|scope| {
                let watcher = scope.spawn(|| watch(world, "x", 16 * MIB));
                for mebibytes in [20, 60, 100, 140, 180, 220] {
                    let far =
                        || world.show("x")["output"]["bytes"].as_u64().unwrap() > mebibytes * MIB;
                    until("more has come", far);
                    kill_for_good(world.pair("x").keeper);
                    // If the killed keeper had no standby yet, this adopts the job.
                    world.show("x");
                }
                File::create(go).unwrap();
                assert!(watcher.join().unwrap() > 100);
            });
            assert_eq!(world.wait("x")["output"]["bytes"], 300_000_000);
            assert_eq!(is_segmented(world, "x"), !ground.has_holes());
        },
    );
}

/// Each keeper is killed right after it wrote. The next keeper must free the old part before it writes more.
#[test]
fn keepers_killed_before_they_free_space_keep_the_bound() {
    needs!(Strace);
    every(
        &[Ground::Here, Ground::HereWithoutHoles],
        |ground| format!("{ground:?}"),
        |ground| {
            let place = ground.world("");
            let world = &place.world;
            let max = MIB / 4;
            place.start("x", "256K", "head -c 100000000 /dev/zero");
            let size = || output::size_of(&JobDir::at(world.job_dir("x")), Some(Bound::new(max)));
            until("it has outgrown its bound", || size() > 2 * max);
            world.kill_both("x");
            let before = size();
            for _ in 0..12 {
                let hooks = "keeper:Captured=kill,heir:Captured=kill";
                Ran::of(world.command(["show", "x"]).env("OUTLIVE_HOOKS", hooks));
                let used = on_disk(world, "x");
                assert!(used <= most(max), "{used} bytes of {} on disk", most(max));
            }
            let came = size() - before;
            assert!(came > max / 2, "these keepers stored only {came} bytes");
            assert_eq!(world.show("x")["state"], "running");
            assert_eq!(world.wait("x")["output"]["bytes"], 100_000_000);
        },
    );
}
