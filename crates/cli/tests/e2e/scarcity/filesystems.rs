//! Other filesystems, limits on file sizes, and small stacks.

use super::disk::on_each_kind;
use super::{LINE, assert_ended_exactly, expected, limited, lines};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;

#[test]
fn a_limit_on_file_sizes_costs_output_and_no_outcome() {
    let world = World::new();
    let script = format!("ulimit -S -f unlimited; {}; exit 4", lines(0..10_000));
    let ran = Ran::of(&mut limited(
        &world,
        "ulimit -S -f 16",
        &["run", "--id", "x", "--shell", &script],
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = world.wait("x");
    assert_eq!(job["exit_code"], 4);
    assert_eq!(job["output"]["bytes"], 10_000 * LINE);
}

#[test]
fn a_home_on_another_filesystem_works_in_full() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, _, kind| {
        let count = 10_000;
        let id = world.shell(&format!("{}; exit 3", lines(0..count)));
        assert_eq!(world.wait(&id)["exit_code"], 3);
        assert!(world.output(&id) == expected(0..count), "{kind:?}");
        assert_eq!(world.show(&id)["output"]["dropped_bytes"], 0);
        let raw = world.outlive(&["log", &id, "--bytes", "16:32"]);
        assert_eq!(raw.stdout, "000000000000001\n");

        let id = world.ok(&["run", "--", "sleep", "60"]);
        world.kill_both(&id);
        world.ok(&["stop", &id]);
        assert_ended_exactly(world, &id, 143, "stop");
        assert_eq!(world.listed(&[]).len(), 2);
        world.ok(&["prune", "--all"]);
        assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
    });
}

/// A limit that is meant for the job must not break the programs that start it. The job gets it unchanged.
#[test]
fn a_small_stack_is_the_jobs_alone() {
    let world = World::new();
    let limit = "ulimit -S -s 64";
    let args = ["run", "--wait", "--shell", "ulimit -S -s"];
    let ran = Ran::of(&mut limited(&world, limit, &args));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "64\n"), "{ran:?}");
    for args in [&["list"][..], &["doctor"], &["run", "--", "true"]] {
        let ran = Ran::of(&mut limited(&world, limit, args));
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }
    let ran = Ran::of(&mut limited(&world, limit, &["show", "none"]));
    assert_eq!(ran.code, 3, "{ran:?}");
}
