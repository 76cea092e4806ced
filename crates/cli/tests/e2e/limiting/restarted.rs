//! Limits of a job that is restarted, and a limit that the configuration sets.

use super::{LITTLE, assert_groups_are_gone, has_groups};
use outlive_testkit::checks::exited;
use outlive_testkit::processes::{CONT, is_stopped, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::Path;

/// The first attempt runs out of memory, the second is killed by somebody, the third fails by itself. All of them are in
/// one group, which has counted what the kernel killed in the first.
#[test]
fn running_out_of_memory_ends_one_attempt_and_is_said_of_that_one_only() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let count = world.path("count");
    let script = format!(
        "echo >> '{count}'; case $(wc -l < '{count}') in \
         1) exec tail /dev/zero;; 2) kill -KILL $$;; *) exit 5;; esac",
        count = count.display()
    );
    let id = world.ok(&[
        "run",
        LITTLE[0],
        LITTLE[1],
        "--restart",
        "on-failure:2",
        "--shell",
        &script,
    ]);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], exited(5), "{job}");
    assert_eq!(job["ended_by"], "itself", "{job}");
    let job = world.show(&id);
    let attempts = job["attempts"].as_array().unwrap();
    let ended_by: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt["ended_by"].as_str().unwrap())
        .collect();
    assert_eq!(ended_by, ["memory", "signal", "itself"], "{job}");
    assert_groups_are_gone(&world, &id);
}

/// An attempt has started a limited job, whose group was inside. In the pause after it, the outer group is empty. It is
/// not removed with the inner job, because the next attempt needs it.
#[test]
fn a_group_stays_for_the_next_attempt_when_an_inner_job_is_pruned() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) || !Path::new("/sys/fs/cgroup/memory").exists() {
        return;
    }
    let outlive = world.command::<&str>([]);
    let program = outlive.get_program().to_str().unwrap();
    let again = world.path("again");
    let script = format!(
        "if [ -e '{again}' ]; then exit 0; fi; touch '{again}'; \
         {program} run --id inner --memory 100M --wait -- true; exit 4",
        again = again.display()
    );
    let options = ["--memory", "300M", "--restart", "on-failure:1"];
    let args = [
        &["run", "--id", "outer"],
        &options[..],
        &["--shell", &script],
    ]
    .concat();
    let mut outer = world.command(args);
    let ran = Ran::of(outer.env("OUTLIVE_HOOKS", "keeper:AttemptDue=stop"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut keeper = None;
    until("the pause is over", || {
        keeper = world.processes().into_iter().find(|pid| is_stopped(*pid));
        keeper.is_some()
    });
    world.until_over("inner");
    world.ok(&["prune", "--all"]);
    assert_eq!(world.outlive(&["show", "inner"]).code, 3);
    kill(keeper.unwrap(), CONT);
    let job = world.wait("outer");
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert_groups_are_gone(&world, "outer");
    world.until_nothing_runs();
}

#[test]
fn the_configuration_may_set_a_limit_of_memory_and_zero_lifts_it() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    fs::write(
        world.home().join("config.toml"),
        "[defaults]\nmemory = \"300M\"\n",
    )
    .unwrap();
    let run = |options: &[&str]| {
        let args = [&["run"], options, &["--", "true"]].concat();
        let mut command = world.command(args);
        let ran = command
            .env("OUTLIVE_CONFIG", world.path("config.toml"))
            .output()
            .unwrap();
        world.show(String::from_utf8(ran.stdout).unwrap().trim())
    };
    assert_eq!(run(&[])["limits"]["memory_bytes"], 300 << 20);
    assert!(run(&["--memory", "0"])["limits"].is_null());
}
