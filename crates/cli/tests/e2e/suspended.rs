//! A keeper that is suspended or cannot write: every verb still answers, and `stop` still stops the job.

use crate::mcp::client::Client;
use outlive_sys::clock;
use outlive_testkit::checks::signaled;
use outlive_testkit::processes::{CONT, STOP, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{IGNORES, sleeper, started};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// The longest time that a verb may take if it has nothing to wait for, also on a busy machine.
const PROMPT: Duration = Duration::from_secs(8);

fn promptly(world: &World, args: &[&str]) -> Ran {
    let begun = Instant::now();
    let ran = world.outlive(args);
    let took = begun.elapsed();
    assert!(took < PROMPT, "outlive {args:?} took {took:?}: {ran:?}");
    ran
}

/// Starts a job and suspends its keeper.
fn suspended(world: &World, options: &[&str]) -> (String, i32) {
    let id = sleeper(world, options);
    let keeper = world.pair(&id).keeper;
    kill(keeper, STOP);
    until_stopped(keeper);
    (id, keeper)
}

#[test]
fn reading_verbs_answer_with_what_is_known() {
    for options in [&["--pty"][..], &["--stdin", "pipe"]] {
        let world = World::new();
        let (id, keeper) = suspended(&world, options);
        let other = sleeper(&world, options);
        let shown = promptly(&world, &["show", &id, "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["state"], "running");
        assert_eq!(shown["awaiting_input"], Value::Null, "nobody said");
        assert_eq!(shown["keeper_silent"], true, "{shown}");
        let listed = promptly(&world, &["list", "--json"]);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let of = |id: &str| {
            let jobs = listed["jobs"].as_array().unwrap();
            jobs.iter().find(|job| job["id"] == id).unwrap().clone()
        };
        assert_eq!(of(&id)["keeper_silent"], true);
        assert_eq!(of(&other)["awaiting_input"], false, "the other one answers");
        let words = promptly(&world, &["list"]).stdout;
        assert!(words.contains("its keeper does not answer"), "{words}");
        assert_eq!(promptly(&world, &["log", &id]).code, 0);
        assert_eq!(promptly(&world, &["wait", "--timeout", "300ms"]).code, 124);
        assert_eq!(
            promptly(&world, &["wait", &id, "--timeout", "300ms"]).code,
            124
        );
        kill(keeper, CONT);
        assert_eq!(world.show(&id)["keeper_silent"], Value::Null);
    }
}

#[test]
fn an_mcp_server_answers_while_a_keeper_is_suspended() {
    let world = World::new();
    let (id, keeper) = suspended(&world, &["--pty", "--session", "s"]);
    let mut client = Client::of(&world, "s");
    let begun = Instant::now();
    let jobs = client.ok("jobs", json!({}));
    assert!(begun.elapsed() < PROMPT);
    assert_eq!(jobs["jobs"][0]["id"], json!(id));
    kill(keeper, CONT);
}

#[test]
fn verbs_that_need_the_keeper_say_that_it_does_not_answer() {
    let world = World::new();
    let (id, keeper) = suspended(&world, &["--stdin", "pipe"]);
    for args in [
        &["stop", &id][..],
        &["send", &id, "x"],
        &["signal", &id, "USR1"],
    ] {
        let begun = Instant::now();
        let ran = world.outlive(args);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains("does not answer"), "{ran:?}");
        assert!(begun.elapsed() < 3 * PROMPT, "{args:?}");
    }
    kill(keeper, CONT);
    world.ok(&["stop", &id]);
}

/// There are more clients than fit into the queue of the suspended keeper's socket.
#[test]
fn a_suspended_keeper_is_reported_however_many_have_asked() {
    let world = World::new();
    let (id, keeper) = suspended(&world, &["--pty"]);
    let looks: Vec<_> = (0..140)
        .map(|_| {
            let mut look = world.command(["list", "--json"]);
            look.stdout(std::process::Stdio::null());
            look.spawn().unwrap()
        })
        .collect();
    for mut look in looks {
        until("it answers", || look.try_wait().unwrap().is_some());
    }
    let begun = Instant::now();
    let ran = world.outlive(&["show", &id, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
    kill(keeper, CONT);
}

/// Sets the largest file size that the keepers of a job can write.
fn limit_files(world: &World, id: &str, limit: &str) {
    let pair = world.pair(id);
    for pid in [Some(pair.keeper), pair.standby].into_iter().flatten() {
        let ran = Ran::of(
            Command::new("prlimit")
                .args([format!("--pid={pid}"), format!("--fsize={limit}:unlimited")]),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn a_stop_does_not_wait_for_the_journal() {
    let world = World::new();
    let id = started(&world, &["--grace", "300ms"], IGNORES);
    let leader = world.leader(&id);
    limit_files(&world, &id, "1");
    let ran = promptly(&world, &["stop", &id]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("cannot be written"), "{ran:?}");
    assert!(!outlive_testkit::processes::is_alive(leader));
    // Other verbs still answer meanwhile, and a second stop reports the same error.
    assert_eq!(promptly(&world, &["stop", &id]).code, 125);
    assert_eq!(promptly(&world, &["show", &id]).code, 0);
    assert_eq!(promptly(&world, &["list"]).code, 0);
    assert_eq!(
        promptly(&world, &["wait", &id, "--timeout", "200ms"]).code,
        124
    );
    let lifted = clock::boot_ms();
    limit_files(&world, &id, "unlimited");
    world.until_over(&id);
    let shown = world.show(&id);
    assert_eq!(shown["outcome"], signaled("SIGKILL"));
    assert_eq!(shown["ended_by"], "stop");
    // The record has the time of the end, not the time when it could be written.
    assert!(world.boot_ms(&id, "ended") < lifted);
}

#[test]
fn a_timeout_does_not_wait_for_the_journal() {
    let world = World::new();
    let options = ["--timeout", "1s", "--grace", "200ms"];
    let id = started(&world, &options, IGNORES);
    let leader = world.leader(&id);
    limit_files(&world, &id, "1");
    until("it was killed", || {
        !outlive_testkit::processes::is_alive(leader)
    });
    limit_files(&world, &id, "unlimited");
    world.until_over(&id);
    assert_eq!(world.show(&id)["ended_by"], "timeout");
}

/// The leader has ended, which could not be recorded. Its child still runs.
#[test]
fn lingering_processes_are_stopped_though_the_end_is_not_recorded() {
    let world = World::new();
    let child = world.path("child");
    let script = format!(
        "(trap '' TERM; echo $BASHPID > {0}.new; mv {0}.new {0}; exec sleep 60) & {1}; exit 3",
        child.display(),
        outlive_testkit::scripts::loop_until(&world.path("go"))
    );
    let id = world.ok(&["run", "--grace", "200ms", "--shell", &script]);
    until("the child is there", || child.exists());
    let child = outlive_testkit::processes::pid_in(&child);
    limit_files(&world, &id, "1");
    std::fs::write(world.path("go"), "").unwrap();
    let leader = world.leader(&id);
    until("the leader has ended", || {
        !outlive_testkit::processes::is_alive(leader)
    });
    let ran = promptly(&world, &["stop", &id]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(!outlive_testkit::processes::is_alive(child));
    limit_files(&world, &id, "unlimited");
    world.until_over(&id);
    let shown = world.show(&id);
    assert_eq!(
        (&shown["exit_code"], &shown["ended_by"]),
        (&json!(3), &json!("itself"))
    );
}
