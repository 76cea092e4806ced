//! The kept part of a bounded output is exact.

use super::ground::{ALL, Ground, Grounded};
use super::{MIB, assert_kept, bounded, is_segmented, lines, most, on_disk};
use outlive_testkit::checks::every;
use outlive_testkit::processes::kill;
use outlive_testkit::world::World;

#[test]
fn a_bounded_output_keeps_its_head_and_its_tail() {
    needs!(Root, Strace);
    every(
        &ALL,
        |ground| format!("{ground:?}"),
        |ground| {
            let place = ground.world("8m");
            place.start("x", "1M", &format!("{}; exit 5", lines(1_000_000)));
            assert_eq!(place.world.wait("x")["exit_code"], 5);
            assert_kept(&place.world, "x", MIB, 1_000_000);
            let used = on_disk(&place.world, "x");
            assert!(used <= most(MIB), "{used} bytes on disk");
            assert_eq!(is_segmented(&place.world, "x"), !ground.has_holes());
        },
    );
}

/// This filesystem really has no holes, so no tracer is needed.
#[test]
fn the_bound_holds_on_a_filesystem_without_holes() {
    needs!(Root, Strace);
    let place = Grounded::on_ramfs();
    let id = bounded(&place.world, "1M", &lines(1_000_000));
    place.world.wait(&id);
    assert!(is_segmented(&place.world, &id));
    assert_kept(&place.world, &id, MIB, 1_000_000);
    place.world.ok(&["prune", "--all", "--force"]);
    assert!(!place.world.job_dir(&id).exists());
}

/// On such a filesystem too, an output that fits within the bound is a single file.
#[test]
fn a_small_output_is_one_file_on_every_filesystem() {
    needs!(Root, Strace);
    let place = Grounded::on_ramfs();
    let id = bounded(&place.world, "1M", "head -c 262143 /dev/zero");
    assert_eq!(place.world.wait(&id)["output"]["bytes"], 262_143);
    assert!(!is_segmented(&place.world, &id));
}

#[test]
fn the_default_bound_is_64_mib_and_0_keeps_everything() {
    let world = World::new();
    let script = "head -c 80000000 /dev/zero";
    let some = world.shell(script);
    let all = bounded(&world, "0", script);
    let dropped = world.wait(&some)["output"]["dropped_bytes"]
        .as_u64()
        .unwrap();
    assert!(
        dropped > 80_000_000 - 69 * MIB && dropped <= 80_000_000 - 64 * MIB,
        "{dropped}"
    );
    assert_eq!(world.wait(&all)["output"]["dropped_bytes"], 0);
    // The user asked for the limit, so `show` must not report an error.
    let shown = world.ok(&["show", &some]);
    assert!(
        shown.contains(" of it dropped because of the output limit, in "),
        "{shown}"
    );
    assert!(!shown.contains("could not be stored"), "{shown}");
}

#[test]
fn keepers_killed_during_a_large_output_keep_the_bound_and_every_kept_byte() {
    needs!(Strace);
    every(
        &[Ground::Here, Ground::HereWithoutHoles],
        |ground| format!("{ground:?}"),
        |ground| {
            let place = ground.world("");
            let world = &place.world;
            let count = 2_000_000;
            place.start("x", "1M", &format!("{}; exit 5", lines(count)));
            kill(world.pair("x").keeper, 9);
            assert_eq!(world.wait("x")["exit_code"], 5);
            assert_kept(world, "x", MIB, count);
            assert_eq!(world.events("x", "kept").len(), 2);
        },
    );
}
