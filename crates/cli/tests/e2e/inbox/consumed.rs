//! A session is not told again what it learned from a verb of its own. It is still told what only other callers
//! learned.

use super::{ME, assert_nothing_waits, end_event, ended, event_ids, inbox, only_event, waiting};
use outlive_testkit::checks::every;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// The only untold event, which must be the end of this job.
fn told_of(world: &World, id: &str) -> Value {
    let event = only_event(&inbox(world, &[]));
    assert_eq!(event["event"], json!(end_event(world, id)));
    event
}

#[test]
fn a_session_that_waited_for_a_job_is_not_told_of_it() {
    let cells = [
        &["wait"][..],
        &["wait", "--json"],
        &["wait", "--any"],
        &["stop"],
    ];
    every(
        &cells,
        |args| args.join(" "),
        |args| {
            for session in [None, Some(ME)] {
                let world = World::new();
                let id = ended(&world, "true");
                let mut command = world.command(*args);
                let ran = Ran::of(
                    command
                        .arg(&id)
                        .envs(session.map(|key| ("OUTLIVE_SESSION", key))),
                );
                assert_eq!(ran.code, 0, "{ran:?}");
                match session {
                    Some(_) => assert_nothing_waits(&world),
                    // Without a session, nobody knows who waited.
                    None => drop(told_of(&world, &id)),
                }
            }
        },
    );
}

#[test]
fn a_session_that_ran_a_job_with_wait_is_not_told() {
    let world = World::new();
    for stay in ["--wait", "--follow", "--wait=20s"] {
        let args = ["run", "--session", ME, stay, "--shell", "echo out; exit 4"];
        assert_eq!(world.outlive(&args).code, 4);
        assert_nothing_waits(&world);
    }
}

#[test]
fn a_session_whose_run_wait_ran_out_of_time_is_told() {
    let world = World::new();
    let gate = outlive_testkit::gate::Gate::new(&world);
    let script = gate.then("exit 4");
    let ran = world.outlive(&["run", "--session", ME, "--wait=50ms", "--shell", &script]);
    assert_eq!(ran.code, 124, "{ran:?}");
    gate.open();
    let id = world.listed(&["--state", "all"]).remove(0);
    world.until_over(&id);
    assert_eq!(told_of(&world, &id)["data"]["exit_code"], 4);
}

#[test]
fn a_session_whose_wait_timed_out_is_told() {
    let world = World::new();
    let gate = outlive_testkit::gate::Gate::new(&world);
    let id = world.ok(&["run", "--session", ME, "--shell", &gate.then("true")]);
    assert_eq!(world.outlive(&["wait", &id, "--timeout", "50ms"]).code, 124);
    gate.open();
    world.until_over(&id);
    told_of(&world, &id);
}

#[test]
fn reading_the_whole_log_counts_as_told() {
    let world = World::new();
    let id = ended(&world, "seq 5");
    world.ok(&["log", &id]);
    assert_eq!(waiting(&world, ME), 1, "nobody knows who read it");
    assert_eq!(world.as_session(ME, &["log", &id]).code, 0);
    assert_nothing_waits(&world);
}

#[test]
fn reading_part_of_the_log_does_not_count_as_told() {
    let world = World::new();
    let id = ended(&world, "seq 500");
    world.ok(&["log", &id]);
    world.ok(&["log", &id, "--lines", "3"]);
    told_of(&world, &id);
}

#[test]
fn reading_the_log_of_a_running_job_does_not_count_as_told() {
    let world = World::new();
    let gate = outlive_testkit::gate::Gate::new(&world);
    let script = format!("echo out; {}", gate.then("true"));
    let id = world.ok(&["run", "--session", ME, "--shell", &script]);
    outlive_testkit::checks::until_output(&world, &id, "out\n");
    assert_eq!(world.ok(&["log", &id]), "out");
    gate.open();
    world.until_over(&id);
    told_of(&world, &id);
}

#[test]
fn an_end_that_show_printed_is_told_unless_skip_shown_is_given() {
    let world = World::new();
    let (shown, not_shown) = (ended(&world, "true"), ended(&world, "true"));
    for _ in 0..2 {
        assert_eq!(world.as_session(ME, &["show", &shown]).code, 0);
    }
    let left = inbox(&world, &["--peek", "--skip-shown"]);
    assert_eq!(event_ids(&left), [end_event(&world, &not_shown)]);
    let left = inbox(&world, &["--skip-shown"]);
    assert_eq!(event_ids(&left), [end_event(&world, &not_shown)]);
    assert_eq!(told_of(&world, &shown)["attempt"], 1);
}

#[test]
fn skip_shown_does_not_skip_what_another_session_was_shown() {
    let world = World::new();
    let id = ended(&world, "true");
    assert_eq!(world.as_session("other", &["show", &id]).code, 0);
    world.ok(&["show", &id]);
    let left = inbox(&world, &["--skip-shown"]);
    assert_eq!(event_ids(&left), [end_event(&world, &id)]);
}

#[test]
fn skip_shown_does_not_skip_a_job_shown_while_it_ran() {
    let world = World::new();
    let gate = outlive_testkit::gate::Gate::new(&world);
    let id = world.ok(&["run", "--session", ME, "--shell", &gate.then("true")]);
    world.show(&id);
    gate.open();
    world.until_over(&id);
    let left = inbox(&world, &["--skip-shown"]);
    assert_eq!(event_ids(&left), [end_event(&world, &id)]);
}

#[test]
fn a_wait_by_another_session_does_not_count_as_told() {
    let world = World::new();
    let id = ended(&world, "echo out; exit 3");
    assert_eq!(world.as_session("other", &["wait", &id]).code, 3);
    assert_eq!(world.as_session("other", &["log", &id]).stdout, "out\n");
    assert_eq!(world.as_session("other", &["stop", &id]).code, 0);
    assert_eq!(waiting(&world, "other"), 0);
    told_of(&world, &id);
}

#[test]
fn a_session_is_not_told_of_its_own_stop() {
    let world = World::new();
    let id = sleeper(&world, &["--session", ME]);
    let ran = world.as_session(ME, &["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.until_over(&id);
    assert_nothing_waits(&world);
}

/// A caller without a session may be anybody, so the record does not name the job's own session.
#[test]
fn a_session_is_told_of_a_stop_by_nobody_known() {
    let world = World::new();
    let id = sleeper(&world, &["--session", ME]);
    world.ok(&["stop", &id]);
    world.until_over(&id);
    let end = world.events(&id, "ended").remove(0);
    assert_eq!(end["ended_by_session"], Value::Null, "{end}");
    assert_eq!(told_of(&world, &id)["data"]["ended_by"], "stop");
}

/// The client that asked for the stop was killed before it got the answer, so the session still has to be told.
#[test]
fn an_end_after_a_stop_that_was_not_answered_is_told() {
    let world = World::new();
    let stubborn = "trap '' TERM; echo up; while :; do sleep 0.05; done";
    let args = ["run", "--session", ME, "--grace", "1s", "--shell", stubborn];
    let id = world.ok(&args);
    outlive_testkit::checks::until_output(&world, &id, "up\n");
    let mut stop = world.command(["stop", &id]);
    let mut stop = stop.env("OUTLIVE_SESSION", ME).spawn().unwrap();
    until("it was asked to stop", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    stop.kill().unwrap();
    stop.wait().unwrap();
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    assert_eq!(event["event"], json!(end_event(&world, &id)));
    let end = world.events(&id, "ended").remove(0);
    assert_eq!(end["ended_by_session"], ME, "{end}");
}

#[test]
fn a_session_is_told_of_a_stop_by_another_session() {
    let world = World::new();
    let id = sleeper(&world, &["--session", ME]);
    assert_eq!(world.as_session("other", &["stop", &id]).code, 0);
    world.until_over(&id);
    let event = told_of(&world, &id);
    assert_eq!(event["data"]["ended_by"], "stop");
    assert_eq!(waiting(&world, "other"), 0);
}

#[test]
fn notify_decides_which_ends_are_told() {
    let cells = [
        ("end", "true", 1),
        ("end", "false", 1),
        ("failure", "true", 0),
        ("failure", "false", 1),
        ("failure", "kill -9 $$", 1),
        ("never", "true", 0),
        ("never", "false", 0),
    ];
    every(
        &cells,
        |cell| format!("{cell:?}"),
        |(notify, script, expected)| {
            let world = World::new();
            let id = world.ok(&[
                "run",
                "--session",
                ME,
                "--notify",
                notify,
                "--shell",
                script,
            ]);
            world.until_over(&id);
            assert_eq!(event_ids(&inbox(&world, &[])).len(), *expected);
            assert_eq!(waiting(&world, ME), *expected as u64);
        },
    );
}

#[test]
fn a_job_without_a_session_is_told_to_nobody() {
    let world = World::new();
    let id = world.shell("true");
    world.until_over(&id);
    let ran = world.outlive(&["inbox", "--session", ME, "--ack", &end_event(&world, &id)]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_nothing_waits(&world);
}

#[test]
fn a_session_that_run_answered_not_started_is_not_told_again() {
    let world = World::new();
    assert_eq!(
        world
            .outlive(&["run", "--session", ME, "--", "/no/such"])
            .code,
        127
    );
    assert_nothing_waits(&world);
}

/// The answer went to another session, or the client was killed before it got one.
#[test]
fn a_job_that_could_not_start_is_told_to_a_session_that_was_not_answered() {
    let world = World::new();
    let args = ["run", "--session", ME, "--id", "job", "--", "/no/such"];
    assert_eq!(world.as_session("other", &args).code, 127);
    let event = told_of(&world, "job");
    assert_eq!(event["data"]["outcome"]["kind"], "not_started", "{event}");
    assert_eq!(event["data"]["exit_code"], 127);

    let world = World::new();
    let ran = Ran::of(
        world
            .command(args)
            .env("OUTLIVE_HOOKS", "launcher:Named=kill"),
    );
    assert_eq!(ran.code, 137, "{ran:?}");
    let event = told_of(&world, "job");
    assert_eq!(event["data"]["outcome"]["kind"], "not_started", "{event}");
}

/// The script of a job may wait for another job of the same session.
#[test]
fn a_wait_inside_a_job_of_the_session_counts_as_told() {
    let world = World::new();
    let first = ended(&world, "exit 5");
    let outlive = outlive_testkit::programs::outlive();
    let script = format!("OUTLIVE_SESSION={ME} {outlive} wait {first}; [ $? = 5 ]");
    let second = ended(&world, &script);
    assert_eq!(told_of(&world, &second)["data"]["exit_code"], 0);
}
