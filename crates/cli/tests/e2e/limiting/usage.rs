//! What a running job uses, with and without control groups.

use super::has_groups;
use outlive_testkit::processes::is_alive;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

/// A child holds 40 million bytes, and another one uses the processor.
const TREE: &str = "(head -c 40000000 /dev/zero; sleep 60) | tail > /dev/null & \
                    sh -c 'while :; do :; done' & wait";

#[track_caller]
fn until_uses(world: &World, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
    until(what, || is_so(&world.show(id)["usage"]));
}

fn assert_the_tree_counts(world: &World, id: &str) {
    until_uses(world, id, "the memory of the tree is counted", |usage| {
        usage["memory_bytes"].as_u64().unwrap() > 38_000_000
    });
    until_uses(
        world,
        id,
        "the processor time of the tree is counted",
        |usage| usage["user_ms"].as_u64().unwrap() > 200,
    );
    until_uses(world, id, "all processes are counted", |usage| {
        usage["processes"] == 4
    });
    let listed = world.json(&["list", "--usage", "--json"]);
    let usage = &listed["jobs"][0]["usage"];
    assert!(
        usage["memory_bytes"].as_u64().unwrap() > 38_000_000,
        "{listed}"
    );
    assert!(world.json(&["list", "--json"])["jobs"][0]["usage"].is_null());
    assert!(world.ok(&["list", "--usage"]).contains("PROCS"));
    assert!(world.ok(&["show", id]).contains("4 processes"));
}

#[test]
fn the_tree_of_a_job_without_limits_is_counted() {
    let world = World::new();
    let id = world.shell(TREE);
    assert_the_tree_counts(&world, &id);
    assert!(world.show(&id)["usage"]["peak_memory_bytes"].is_null());
    let job = world.job(&["stop", &id, "--json"]);
    assert!(job["usage"]["memory_bytes"].is_null(), "{job}");
    world.until_nothing_runs();
}

#[test]
fn the_tree_of_a_limited_job_is_counted_by_its_group() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let id = world.ok(&["run", "--memory", "300M", "--shell", TREE]);
    assert_the_tree_counts(&world, &id);
    let peak = |usage: &Value| usage["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak(&world.show(&id)["usage"]) > 38_000_000);
    let job = world.job(&["stop", &id, "--json"]);
    assert!(peak(&job["usage"]) > 38_000_000, "{job}");
    world.until_nothing_runs();
}

#[test]
fn the_tree_of_an_adopted_job_is_counted() {
    let world = World::new();
    let id = world.shell(TREE);
    until_uses(&world, &id, "all processes run", |usage| {
        usage["processes"] == 4
    });
    world.kill_both(&id);
    assert_the_tree_counts(&world, &id);
    world.ok(&["stop", &id]);
    world.until_nothing_runs();
}

/// A job that another job has started is not part of it.
#[test]
fn an_inner_job_is_not_counted() {
    let world = World::new();
    let outlive = world.command::<&str>([]);
    let program = outlive.get_program().to_str().unwrap();
    let script = format!("{program} run --id inner -- sleep 60; exec sleep 60");
    let id = world.shell(&script);
    until("the inner job runs", || world.live("inner").exists());
    until_uses(&world, &id, "the leader is counted alone", |usage| {
        usage["processes"] == 1
    });
    world.ok(&["stop", &id, "inner"]);
    world.until_nothing_runs();
}

#[test]
fn a_stream_of_usage_goes_on_until_the_job_ends() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let leader = world.leader(&id);
    let mut stream = world.begin(&[
        "show", &id, "--usage", "--follow", "--every", "50ms", "--json",
    ]);
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert!(stream.try_wait().unwrap().is_none());
    world.ok(&["stop", &id]);
    assert!(!is_alive(leader));
    let ran = outlive_testkit::ran::Ran::end_of(stream);
    assert_eq!(ran.code, 0, "{ran}");
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() >= 3, "{ran}");
    let (last, before) = lines.split_last().unwrap();
    assert_eq!((&last["state"], &last["id"]), (&"ended".into(), &id.into()));
    assert!(last["usage"]["user_ms"].is_u64(), "{last}");
    assert_eq!(before[0]["usage"]["processes"], 1, "{ran}");
}

/// Following the usage of a job is no answer about its end: its session is told as usual.
#[test]
fn who_follows_the_usage_is_not_told_of_the_end() {
    let world = World::new();
    let id = world.as_session("s", &["run", "--", "sleep", "0.3"]).text();
    let ran = world.as_session(
        "s",
        &["show", &id, "--usage", "--follow", "--every", "100ms"],
    );
    assert!(ran.stdout.contains("ended"), "{ran}");
    assert!(world.as_session("s", &["inbox"]).stdout.contains(&id));
}
