//! Both keepers are killed at each hook, or the adopting keeper is killed at a hook.

use super::{keepers, running};
use outlive_sys::process;
use outlive_testkit::checks::{assert_nothing_is_left, every, exited, keepings, until_output};
use outlive_testkit::processes::{CONT, KILL, is_stopped, kill};
use outlive_testkit::ran::{Ran, ids_of};
use outlive_testkit::scripts::{WAITS, let_go, start, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// What must become of a job whose keepers were both killed at a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// The command never ran.
    Unstarted,
    /// The job continues to its own end.
    GoesOn,
    /// The job had ended, and its outcome may be known or lost.
    Unseen,
    /// Its end had been recorded.
    Recorded,
}

/// The hooks, for a job that prints `up`, waits, and ends with 7.
const FATES: [(&str, Fate); 16] = [
    ("Begun", Fate::Unstarted),
    ("Forked", Fate::Unstarted),
    ("Spawned", Fate::Unstarted),
    ("GateOpened", Fate::GoesOn),
    ("Executed", Fate::GoesOn),
    ("Started", Fate::GoesOn),
    ("Ready", Fate::GoesOn),
    ("Captured", Fate::GoesOn),
    ("LeaderEnded", Fate::Unseen),
    ("Drained", Fate::Unseen),
    ("OutputSynced", Fate::Unseen),
    ("EndedRecorded", Fate::Recorded),
    ("Noted", Fate::Recorded),
    ("Told", Fate::Recorded),
    ("Reaped", Fate::Recorded),
    ("Retired", Fate::Recorded),
];

/// Runs a job whose first pair of keepers has this hook. Later pairs do not have it.
fn run_with_doomed_pair(world: &World, hook: &str, script: &str) -> Ran {
    let hooks = format!("OUTLIVE_HOOKS=keeper:{hook}=kill-both");
    let args = ["run", "--id", "job", "--env", &hooks, "--shell", script];
    Ran::of(&mut with_go(world, &args))
}

#[test]
fn killing_both_keepers_at_any_hook_leaves_a_running_job_or_a_true_record() {
    let name = |cell: &(&str, Fate)| format!("both killed at {}", cell.0);
    every(&FATES, name, |(hook, fate)| {
        let world = World::new();
        let ran = run_with_doomed_pair(&world, hook, &format!("echo up; {WAITS} echo end; exit 7"));
        if *fate != Fate::Unstarted {
            assert_eq!(ran.code, 0, "{ran:?}");
            // `run` may have returned just before both keepers were killed. Then `show` adopts the job. What a job
            // writes and leaves behind while nobody keeps it would be lost, so it goes on only after that.
            let is_adopted = || keepings(&world, "job").len() == 2;
            until("it is up", || {
                world.show("job");
                world.output("job") == b"up\n" && (*fate != Fate::GoesOn || is_adopted())
            });
            let_go(&world);
        }
        match fate {
            Fate::Unstarted => assert_never_ran(&world, &ran),
            Fate::GoesOn => assert_went_on(&world),
            Fate::Unseen => assert_unseen(&world),
            Fate::Recorded => assert_recorded(&world),
        }
        assert_eq!(world.events("job", "ended").len(), 1);
        assert_nothing_is_left(&world, "job");
    });
}

fn assert_never_ran(world: &World, ran: &Ran) {
    assert_eq!(ran.code, 125, "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["state"], "ended", "{job}");
    // Nobody may know whether the command was about to run. It certainly did not succeed.
    let kind = job["outcome"]["kind"].as_str().unwrap();
    assert!(["not_started", "lost"].contains(&kind), "{job}");
    assert_eq!(world.outlive(&["wait", "job"]).code, 125);
    assert_eq!(world.output("job"), b"");
}

fn assert_went_on(world: &World) {
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    assert_eq!(world.show("job")["outcome"], exited(7));
    assert_eq!(keepings(world, "job"), ["launched", "adopted"]);
    assert_eq!(world.output("job"), b"up\nend\n");
}

/// The exit status is known only if the leader's new parent had not reaped it yet.
fn assert_unseen(world: &World) {
    until("both are gone", || keepers(world).is_empty());
    let code = world.outlive(&["wait", "job"]).code;
    let job = world.show("job");
    match job["outcome"]["kind"].as_str().unwrap() {
        "exited" => assert_eq!((code, &job["exit_code"]), (7, &json!(7))),
        "lost" => assert_eq!((code, &job["exit_code"]), (125, &Value::Null)),
        other => panic!("{other}: {job}"),
    }
    assert_eq!(keepings(world, "job"), ["launched", "adopted"]);
}

fn assert_recorded(world: &World) {
    until("both are gone", || keepers(world).is_empty());
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    let list = world.json(&["list", "--state", "all", "--json"]);
    assert_eq!(ids_of(&list), ["job"], "{list}");
    assert_eq!(list["jobs"][0]["exit_code"], 7);
    assert_eq!(world.output("job"), b"up\nend\n");
}

fn at_every_hook_of_a_stop(check: impl Fn(&str) + Sync) {
    let hooks = ["StopAsked", "StopWritten", "Terminated"];
    every(&hooks, |hook| (*hook).to_owned(), |hook| check(hook));
}

#[test]
fn a_stop_is_finished_after_both_keepers_are_killed_during_it() {
    at_every_hook_of_a_stop(|hook| {
        let world = World::new();
        let script = "trap '' TERM; echo up; while :; do sleep 60; done";
        assert_eq!(run_with_doomed_pair(&world, hook, script).code, 0);
        until_output(&world, "job", "up\n");
        let job = world.job(&["stop", "job", "--grace", "100ms", "--json"]);
        assert_eq!(job["exit_code"], 137, "{job}");
        assert_eq!(job["ended_by"], "stop");
        assert_eq!(keepings(&world, "job"), ["launched", "adopted"]);
        assert_eq!(world.events("job", "stop_requested").len(), 1);
        assert_eq!(world.events("job", "ended").len(), 1);
        assert_nothing_is_left(&world, "job");
    });
}

#[test]
fn a_timeout_is_finished_after_both_keepers_are_killed_during_it() {
    at_every_hook_of_a_stop(|hook| {
        let world = World::new();
        let hooks = format!("OUTLIVE_HOOKS=keeper:{hook}=kill-both");
        let id = world.ok(&[
            "run",
            "--timeout",
            "200ms",
            "--env",
            &hooks,
            "--",
            "sleep",
            "60",
        ]);
        until("both are gone", || keepers(&world).is_empty());
        let job = world.wait(&id);
        assert_eq!(job["exit_code"], 143, "{job}");
        assert_eq!(job["ended_by"], "timeout");
        assert_eq!(world.events(&id, "stop_requested").len(), 1);
        assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
        assert_nothing_is_left(&world, &id);
    });
}

#[test]
fn killing_both_keepers_as_a_lingering_job_closes_leaves_nothing_behind() {
    let world = World::new();
    let ran = run_with_doomed_pair(&world, "Closed", "sleep 60 & echo main; exit 5");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.outlive(&["wait", "job"]).code, 5);
    world.ok(&["stop", "job"]);
    assert_eq!(world.show("job")["exit_code"], 5);
    assert_eq!(world.events("job", "closed").len(), 1);
    assert_eq!(world.output("job"), b"main\n");
    assert_nothing_is_left(&world, "job");
}

/// An adopting keeper that has not yet recorded the adoption is killed, and with it its standby and the client that
/// started it.
#[test]
fn an_adopting_keeper_that_is_killed_at_once_leaves_no_descendant_out_of_reach() {
    let world = World::new();
    let id = start(&world, "(setsid sleep 8 &) ; echo up; exec sleep 8");
    until_output(&world, &id, "up\n");
    until("all are up", || running(&world, "sleep").len() == 2);
    world.kill_both(&id);
    let mut show = world
        .command(["show", &id])
        .env("OUTLIVE_HOOKS", "keeper:Begun=stop")
        .spawn()
        .unwrap();
    let mut keeper = None;
    until("the keeper stands at its hook", || {
        keeper = keepers(&world).into_iter().find(|pid| is_stopped(*pid));
        keeper.is_some()
    });
    let keeper = keeper.unwrap();
    let standby = process::stat(keeper).unwrap().parent;
    kill(show.id() as i32, KILL);
    show.wait().unwrap();
    kill(standby, KILL);
    until("the standby is gone", || process::stat(standby).is_none());
    kill(keeper, CONT);
    // The sleeps are short, so that this ends even if the stop reaches no process.
    assert_eq!(world.job(&["stop", &id, "--json"])["exit_code"], 143);
    assert_eq!(running(&world, "sleep"), [0; 0]);
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_nothing_is_left(&world, &id);
}
