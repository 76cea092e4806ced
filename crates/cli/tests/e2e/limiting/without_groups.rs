//! Where no control group can be made: what is enforced, said and refused.

use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;

/// Runs `outlive` where the hierarchies of control groups are out of sight.
fn without_groups(world: &World, args: &[&str]) -> Ran {
    let hide = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
    let inside = ["--mount", "sh", "-c", hide, "sh"];
    Ran::of(&mut behind("unshare", inside, &world.command(args)))
}

#[test]
fn memory_is_limited_for_each_process_and_that_is_said() {
    needs!(Root);
    let world = World::new();
    let script = "ulimit -v; tail /dev/zero 2>&1; exit 3";
    let ran = without_groups(&world, &["run", "--memory", "64M", "--shell", script]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("each process alone"), "{ran}");
    let id = ran.text();
    let job = world.wait(&id);
    assert_eq!(job["limits"]["enforced_by"], "process", "{job}");
    assert_eq!(
        (&job["exit_code"], &job["ended_by"]),
        (&3.into(), &"itself".into())
    );
    let output = String::from_utf8_lossy(&world.output(&id)).into_owned();
    assert!(output.starts_with("65536\n"), "{output}");
    assert!(output.contains("memory exhausted"), "{output}");
    let shown = world.ok(&["show", &id]);
    assert!(shown.contains("address space of each process"), "{shown}");
}

#[test]
fn a_limit_that_cannot_be_enforced_at_all_prevents_the_start() {
    needs!(Root);
    for (options, word) in [
        (["--cpus", "1"], "processor time"),
        (["--pids", "5"], "number of processes"),
    ] {
        let world = World::new();
        let file = world.path("ran");
        let path = file.to_str().unwrap();
        let ran = without_groups(
            &world,
            &["run", options[0], options[1], "--", "touch", path],
        );
        assert_eq!(ran.code, 125, "{ran}");
        assert!(ran.stderr.contains(word), "{ran}");
        assert!(ran.stderr.contains("without that limit"), "{ran}");
        assert!(!world.path("ran").exists());
        world.until_nothing_runs();
    }
}

#[test]
fn doctor_says_that_no_group_can_be_made() {
    needs!(Root);
    let world = World::new();
    let ran = without_groups(&world, &["doctor"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("no control group can be made"), "{ran}");
}
