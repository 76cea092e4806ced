//! Running out of memory: with a limit, without one, and what only looks like it.

use super::{LITTLE, assert_groups_are_gone, counter, groups, has_groups, limited, was_inside};
use outlive_testkit::checks::{signaled, until_output};
use outlive_testkit::environment::give_environment;
use outlive_testkit::needs::not_run;
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_job_within_its_limit_is_not_disturbed() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let job = limited(
        &world,
        &["--memory", "200M"],
        "cat /proc/self/cgroup; exit 3",
    );
    let id = job["id"].as_str().unwrap();
    assert_eq!(
        (&job["exit_code"], &job["ended_by"]),
        (&3.into(), &"itself".into())
    );
    assert_eq!(job["limits"]["memory_bytes"], 200 << 20);
    assert!(was_inside(&world, id), "{:?}", world.output(id));
    assert!(
        job["usage"]["peak_memory_bytes"].as_u64().unwrap() > 0,
        "{job}"
    );
    assert_groups_are_gone(&world, id);
}

#[test]
fn a_leader_that_needs_more_memory_is_killed_and_that_is_said() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let ran = world.as_session(
        "s",
        &["run", LITTLE[0], LITTLE[1], "--", "tail", "/dev/zero"],
    );
    let id = ran.text();
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "memory", "{job}");
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    let inbox = world.as_session("s", &["inbox"]);
    assert!(inbox.stdout.contains("out of memory"), "{inbox}");
    assert_groups_are_gone(&world, &id);
}

/// The kernel may kill only one process. The rest of the job must not go on without it.
#[test]
fn the_whole_job_is_killed() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let script = "setsid sleep 60 & tail /dev/zero; sleep 60; echo went on";
    let job = limited(&world, &LITTLE, script);
    let id = job["id"].as_str().unwrap();
    assert_eq!(job["ended_by"], "memory", "{job}");
    assert_eq!(world.output(id), b"");
    assert_groups_are_gone(&world, id);
    world.until_nothing_runs();
}

/// The leader is faster than the keeper, and fails by itself.
#[test]
fn a_leader_that_fails_because_its_child_was_killed_ended_for_want_of_memory() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let job = limited(
        &world,
        &LITTLE,
        "setsid sleep 60 & tail /dev/zero || exit 4",
    );
    assert_eq!(job["ended_by"], "memory", "{job}");
    assert_groups_are_gone(&world, job["id"].as_str().unwrap());
    world.until_nothing_runs();
}

#[test]
fn a_limited_job_that_somebody_kills_was_not_out_of_memory() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let id = world.ok(&["run", LITTLE[0], LITTLE[1], "--", "sleep", "60"]);
    kill(world.leader(&id), KILL);
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "signal", "{job}");
    let id = world.ok(&["run", LITTLE[0], LITTLE[1], "--", "sleep", "60"]);
    let stopped = world.job(&["stop", &id, "--json"]);
    assert_eq!(stopped["ended_by"], "stop");
    assert_groups_are_gone(&world, &id);
}

/// A group of the test, in which a job is started without a limit of its own.
struct Cell(PathBuf);

impl Cell {
    /// `None` if this machine has no memory hierarchy of version 1.
    fn make(name: &str, limit: u64) -> Option<Cell> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups
            .lines()
            .find_map(|line| line.split_once(":memory:"))?
            .1;
        let own = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let path = own.join(format!("test-{name}-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let cell = Cell(path);
        fs::write(cell.0.join("memory.limit_in_bytes"), limit.to_string()).ok()?;
        Some(cell)
    }

    /// Runs `outlive` inside.
    fn run(&self, world: &World, args: &[&str]) -> Ran {
        let outlive = world.command(args);
        let mut inside = Command::new("sh");
        give_environment(&outlive, &mut inside);
        let enter = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", self.0.display());
        inside.args(["-c", &enter, "sh"]).arg(outlive.get_program());
        Ran::of(inside.args(outlive.get_args()))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        until("the group of the test is empty", || {
            fs::remove_dir(&self.0).is_ok()
        });
    }
}

#[test]
fn without_a_limit_the_record_of_the_kernel_names_the_leader() {
    needs!(Root);
    let Some(cell) = Cell::make("leader", 96 << 20) else {
        not_run("it needs control groups of version 1");
        return;
    };
    let world = World::new();
    let ran = cell.run(&world, &["run", "--", "tail", "/dev/zero"]);
    let job = world.wait(&ran.text());
    assert_eq!(job["ended_by"], "memory", "{job}");
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert!(job["limits"].is_null(), "{job}");
    assert_eq!(counter(&cell.0, "memory.oom_control", "oom_kill"), Some(1));
    world.until_nothing_runs();
}

/// A process of the job is killed for want of memory, and later somebody kills the leader. That is not the same.
#[test]
fn without_a_limit_a_killed_child_does_not_make_it_the_end_of_the_job() {
    needs!(Root);
    let Some(cell) = Cell::make("child", 96 << 20) else {
        not_run("it needs control groups of version 1");
        return;
    };
    let world = World::new();
    let script = "tail /dev/zero; echo $?; exec sleep 60";
    let id = cell.run(&world, &["run", "--shell", script]).text();
    until("the child was killed", || {
        String::from_utf8_lossy(&world.output(&id)).contains("137\n")
    });
    kill(world.leader(&id), KILL);
    assert_eq!(world.wait(&id)["ended_by"], "signal");
    world.until_nothing_runs();
}

/// A job that a limited job starts is inside its group, and so are its keepers. When all that is over, pruning removes
/// the outer group, whichever job is pruned last.
#[test]
fn the_group_of_an_outer_job_that_an_inner_one_was_in_is_pruned() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) || !Path::new("/sys/fs/cgroup/memory").exists() {
        return;
    }
    let outlive = world.command::<&str>([]);
    let program = outlive.get_program().to_str().unwrap();
    let go = world.path("go");
    let inner = format!("until [ -e {} ]; do sleep 0.02; done", go.display());
    let script = format!("{program} run --id inner --memory 300M --shell '{inner}'");
    let outer = world.ok(&["run", "--memory", "600M", "--shell", &script]);
    assert_eq!(world.wait(&outer)["exit_code"], 0);
    world.until_over(&outer);
    until_output(&world, &outer, "inner\n");
    let both = [groups(&world, &outer), groups(&world, "inner")].concat();
    assert!(both.iter().all(|group| group.exists()), "{both:?}");
    fs::write(go, "").unwrap();
    assert_eq!(world.wait("inner")["exit_code"], 0);
    assert_groups_are_gone(&world, "inner");
    world.until_nothing_runs();
    world.ok(&["prune", "--all"]);
    for group in both {
        assert!(!group.exists(), "{}", group.display());
    }
}
