//! A job without keepers continues, is adopted, and its record is exact.

use super::{leader, unkept, until_pipe_is_full};
use outlive_sys::{process, tree};
use outlive_testkit::checks::{
    assert_nothing_is_left, assert_same_bytes, every, exited, keepings, signaled, until_output,
};
use outlive_testkit::environment::behind;
use outlive_testkit::processes::{KILL, is_alive, kill, kill_for_good, state_of};
use outlive_testkit::scripts::{WAITS, let_go, numbers, start, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

#[test]
fn each_verb_adopts_a_job_that_nobody_keeps() {
    const VERBS: [(&[&str], i32, &str); 7] = [
        (&["show", "job"], 0, "running"),
        (&["list"], 0, "running"),
        (&["log", "job"], 0, "running"),
        (&["wait", "job", "--timeout", "100ms"], 124, "running"),
        (&["wait", "--timeout", "100ms"], 124, "running"),
        (&["signal", "job", "CONT"], 0, "running"),
        (&["stop", "job"], 0, "ended"),
    ];
    let name = |verb: &(&[&str], i32, &str)| format!("{:?}", verb.0);
    every(&VERBS, name, |(args, code, state)| {
        let world = World::new();
        world.ok(&["run", "--id", "job", "--", "sleep", "60"]);
        let leader = leader(&world, "job");
        world.kill_both("job");
        assert!(is_alive(leader));
        assert_eq!(keepings(&world, "job"), ["launched"]);
        assert_eq!(world.outlive(args).code, *code);
        assert_eq!(keepings(&world, "job"), ["launched", "adopted"]);
        assert_eq!(world.show("job")["state"], *state);
        assert_eq!(is_alive(leader), *state == "running");
        world.ok(&["stop", "job"]);
        assert_nothing_is_left(&world, "job");
        assert_eq!(world.events("job", "ended").len(), 1);
    });
}

#[test]
fn an_adopted_job_gets_a_new_keeper_and_standby() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} echo done; exit 7"));
    world.show(&id);
    let pair = world.pair(&id);
    assert!(is_alive(pair.keeper) && is_alive(pair.standby.unwrap()));
    kill_for_good(pair.keeper);
    let_go(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    assert_eq!(keepings(&world, &id), ["launched", "adopted", "taken_over"]);
    assert_eq!(world.output(&id), b"done\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn an_unkept_job_loses_no_output() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} seq 1 300000; echo end; exit 7"));
    let_go(&world);
    until_pipe_is_full(&world);
    assert_eq!(world.output(&id), b"");
    assert!(world.events(&id, "ended").is_empty());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 7);
    let expected = [numbers(300_000), b"end\n".to_vec()].concat();
    assert_same_bytes("output", &world.output(&id), &expected);
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn the_outcome_of_an_adopted_job_is_exact() {
    let ends = [
        ("exit 0", exited(0), 0, "itself"),
        ("exit 7", exited(7), 7, "itself"),
        ("exit 255", exited(255), 255, "itself"),
        (
            "ulimit -c 0; kill -KILL $$",
            signaled("SIGKILL"),
            137,
            "signal",
        ),
        (
            "ulimit -c 0; kill -SEGV $$",
            signaled("SIGSEGV"),
            139,
            "signal",
        ),
    ];
    every(
        &ends,
        |end| end.0.to_owned(),
        |(script, outcome, code, by)| {
            let world = World::new();
            let id = unkept(&world, &format!("{WAITS} echo last; {script}"));
            world.show(&id);
            let_go(&world);
            assert_eq!(world.outlive(&["wait", &id]).code, *code);
            let job = world.show(&id);
            assert_eq!(job["outcome"], *outcome);
            assert_eq!(job["exit_code"], *code);
            assert_eq!(job["ended_by"], *by);
            assert_eq!(world.output(&id), b"last\n");
            assert_eq!(world.events(&id, "ended").len(), 1);
            assert_nothing_is_left(&world, &id);
        },
    );
}

#[test]
fn an_adopted_job_still_times_out() {
    let world = World::new();
    let id = world.ok(&["run", "--timeout", "1s", "--", "sleep", "60"]);
    world.kill_both(&id);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "timeout");
    // The time limit counts from the start of the job, not from the adoption.
    let ms = job["duration_ms"].as_u64().unwrap();
    assert!((1000..10_000).contains(&ms), "{ms}");
    assert_nothing_is_left(&world, &id);
}

/// Children that detach themselves in all the usual ways.
const SCATTERED: &str = "setsid sleep 601 & \
    (setsid sh -c 'sleep 602 & exit 0') ; \
    (sleep 603 &) ; \
    setsid sh -c 'setsid sleep 604 & exit 0' & \
    env -i sleep 605 & \
    env -i setsid sleep 606 & \
    (env -i sleep 607 &) ; \
    echo up; sleep 608";

/// Finds a `sleep` of `SCATTERED` by its argument.
fn scattered(seconds: u32) -> Option<i32> {
    let arguments = format!("sleep\0{seconds}\0");
    tree::all().unwrap().into_iter().find(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == arguments.as_bytes())
            && is_alive(*pid)
    })
}

#[test]
fn a_stop_of_an_adopted_job_reaches_every_descendant() {
    let world = World::new();
    let id = start(&world, SCATTERED);
    until("all are up", || (601..=608).all(|n| scattered(n).is_some()));
    let sleeps: Vec<i32> = (601..=608).map(|n| scattered(n).unwrap()).collect();
    world.kill_both(&id);
    let job = world.job(&["stop", &id, "--json"]);
    let left: Vec<u32> = (601..=608)
        .zip(&sleeps)
        .filter_map(|(n, pid)| is_alive(*pid).then_some(n))
        .collect();
    sleeps.iter().for_each(|pid| kill(*pid, KILL));
    assert_eq!(left, [0u32; 0], "sleeps that outlived the stop");
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["exit_code"], 143);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn an_unkept_job_that_ended_is_lost_and_never_a_success() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} exit 0"));
    let leader = leader(&world, &id);
    let_go(&world);
    until("its process is gone", || process::stat(leader).is_none());
    let waited = world.outlive(&["wait", &id]);
    assert_eq!(waited.code, 125, "{waited:?}");
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"]["kind"], "lost");
    assert_eq!(
        job["outcome"]["reason"],
        "it ended while no keeper was alive to see how"
    );
    assert_eq!(job["exit_code"], Value::Null);
    assert_eq!(job["duration_ms"], Value::Null);
    assert_eq!(job["ended_by"], "unknown");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

/// A program that adopts orphans, never reaps them, and runs until its input ends.
const HOARDER: &str = "import ctypes, subprocess, sys\n\
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n\
    subprocess.run(sys.argv[1:])\n\
    sys.stdin.read()";

/// The new parent of the leader does not reap it. Then its exit status can still be read, but not the time of its end.
#[test]
fn an_unkept_job_that_ended_has_no_duration() {
    needs!(Python);
    let world = World::new();
    let script = format!("{WAITS} exit 7");
    let run = with_go(&world, &["run", "--id", "job", "--shell", &script]);
    let mut hoarder = behind("python3", ["-c", HOARDER], &run);
    let mut hoarder = hoarder.stdin(Stdio::piped()).spawn().unwrap();
    until("it runs", || {
        world.job_dir("job").exists() && !world.events("job", "started").is_empty()
    });
    let leader = leader(&world, "job");
    world.kill_both("job");
    let_go(&world);
    until("it has ended", || state_of(leader) == Some(b'Z'));
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    let job = world.show("job");
    assert_eq!(job["outcome"], exited(7));
    assert_eq!(job["duration_ms"], Value::Null, "{job}");
    assert!(job["ended_at"].is_string(), "{job}");
    assert_nothing_is_left(&world, "job");
    drop(hoarder.stdin.take());
    assert!(hoarder.wait().unwrap().success());
}

#[test]
fn a_job_can_be_adopted_again_and_again() {
    let world = World::new();
    let id = start(&world, &format!("echo up; {WAITS} seq 1 30000; exit 7"));
    until_output(&world, &id, "up\n");
    for _ in 0..3 {
        world.kill_both(&id);
        assert_eq!(world.show(&id)["state"], "running");
    }
    world.kill_both(&id);
    let_go(&world);
    until_pipe_is_full(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    let expected = [b"up\n".to_vec(), numbers(30_000)].concat();
    assert_same_bytes("output", &world.output(&id), &expected);
    let adopted = ["launched", "adopted", "adopted", "adopted", "adopted"];
    assert_eq!(keepings(&world, &id), adopted);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn killing_the_keeper_its_heir_and_the_new_standby_leaves_a_job_to_adopt() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} echo done; exit 7"));
    kill_for_good(world.pair(&id).keeper);
    until("the standby took over", || keepings(&world, &id).len() == 2);
    world.kill_both(&id);
    assert_eq!(world.show(&id)["state"], "running");
    let_go(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over", "adopted"]);
    assert_nothing_is_left(&world, &id);
}
