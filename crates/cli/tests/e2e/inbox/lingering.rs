//! The end of lingering processes is told once.

use super::{ME, ack, assert_nothing_waits, end_event, event_ids, inbox, only_event, waiting};
use crate::adoption::rewrite;
use outlive_testkit::checks::every;
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::kill;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::IGNORES;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Starts a job that leaves processes behind. Each waits for the gate and then prints `bye`.
fn leaving(world: &World, gate: &Gate, count: usize, options: &[&str], hooks: &str) -> String {
    let left = format!("setsid sh -c '{}' & ", gate.then("echo bye"));
    let script = format!("echo main; {}exit 3", left.repeat(count));
    let mut command = world.command(["run"]);
    command.args(options).args(["--shell", &script]);
    let ran = Ran::of(command.env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// Starts such a job for the session, and delivers its end.
fn told_of_its_end(world: &World, gate: &Gate, count: usize) -> String {
    let id = leaving(world, gate, count, &["--session", ME], "");
    let event = only_event(&inbox(world, &["--wait=30s"]));
    assert_eq!(event["kind"], "ended");
    assert_eq!(event["data"]["lingering"], count);
    ack(world, event["event"].as_str().unwrap());
    id
}

/// Checks that the session is told once, as for any event, that the lingering processes have ended.
fn told_once(world: &World, id: &str) -> Value {
    let event = only_event(&inbox(world, &["--wait=30s"]));
    assert_eq!(event["kind"], "lingering_ended", "{event}");
    assert_eq!(event["job"], id);
    world.until_over(id);
    assert_eq!(world.events(id, "lingering_ended").len(), 1);
    ack(world, event["event"].as_str().unwrap());
    assert_nothing_waits(world);
    event
}

#[test]
fn lingering_that_ends_by_itself_is_told() {
    for (count, said, wrote) in [
        (1, "the process it left behind has ended", "4 bytes were"),
        (
            2,
            "the 2 processes it left behind have ended",
            "8 bytes were",
        ),
    ] {
        let world = World::new();
        let gate = Gate::new(&world);
        let id = told_of_its_end(&world, &gate, count);
        assert_eq!(world.events(&id, "lingering_ended").len(), 0);
        gate.open();
        let event = told_once(&world, &id);
        let data = &event["data"];
        let bytes = 4 * count;
        assert_eq!(data["lingering"], count);
        assert_eq!(data["ended_by"], "itself");
        assert_eq!(data["ended_at"], event["at"]);
        assert_eq!(
            data["output"],
            json!({"bytes": 5 + bytes, "bytes_since_end": bytes})
        );
        let after = world.boot_ms(&id, "lingering_ended") - world.boot_ms(&id, "ended");
        assert_eq!(data["after_ms"], after);
        let text = event["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("Job {id}: {said}, ")), "{text}");
        assert!(
            text.contains(&format!(
                "{wrote} written after the job's end.\nCommand:\n| "
            )),
            "{text}"
        );
        let see = format!("outlive log {id} --bytes 5");
        assert!(text.ends_with(&see), "{text}");
        let shown = world.ok(&["log", &id, "--bytes", "5"]);
        assert_eq!(shown, "bye\n".repeat(count).trim_end());
    }
}

#[test]
fn lingering_that_somebody_else_stopped_is_told() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = told_of_its_end(&world, &gate, 2);
    assert_eq!(world.as_session("other", &["stop", &id]).code, 0);
    let event = told_once(&world, &id);
    assert_eq!(event["data"]["ended_by"], "stop");
    let text = event["text"].as_str().unwrap();
    assert!(
        text.contains("the 2 processes it left behind were stopped, "),
        "{text}"
    );
    assert!(
        text.contains("Nothing was written after the job's end."),
        "{text}"
    );
}

/// The answer to `stop` says that no process is left, of the job or of those that it left behind.
#[test]
fn the_session_that_stopped_the_lingering_is_not_told() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = told_of_its_end(&world, &gate, 2);
    assert_eq!(world.as_session(ME, &["stop", &id]).code, 0);
    world.until_over(&id);
    assert_eq!(world.events(&id, "lingering_ended").len(), 1);
    assert_nothing_waits(&world);
    // The leader ends before the other process, which ignores TERM.
    let script = format!("setsid sh -c \"{IGNORES}\" & wait");
    let args = [
        "run",
        "--session",
        ME,
        "--grace",
        "200ms",
        "--shell",
        &script,
    ];
    let id = world.ok(&args);
    until("it is up", || world.output(&id) == b"up\n");
    assert_eq!(world.as_session(ME, &["stop", &id]).code, 0);
    world.until_over(&id);
    assert_eq!(world.events(&id, "ended")[0]["lingering"], 1);
    assert_eq!(world.events(&id, "lingering_ended")[0]["ended_by"], "stop");
    assert_nothing_waits(&world);
}

#[test]
fn the_end_of_lingering_follows_notify() {
    let cells = [
        (&["--session", ME, "--notify", "failure"][..], 1),
        (&["--session", ME, "--notify", "never"], 0),
        (&[], 0),
    ];
    every(
        &cells,
        |cell| cell.0.join(" "),
        |(options, told)| {
            let world = World::new();
            let gate = Gate::new(&world);
            let id = leaving(&world, &gate, 1, options, "");
            world.wait(&id);
            gate.open();
            world.until_over(&id);
            assert_eq!(world.events(&id, "lingering_ended").len(), 1);
            assert_eq!(waiting(&world, ME), *told);
        },
    );
}

#[test]
fn a_job_that_leaves_nothing_behind_has_no_lingering_event() {
    let world = World::new();
    let id = super::ended(&world, "true");
    assert_eq!(world.events(&id, "lingering_ended").len(), 0);
    assert_eq!(event_ids(&inbox(&world, &[])), [end_event(&world, &id)]);
}

/// The end of the lingering processes is recorded and told once, whichever keeper is killed. How they ended is known
/// only to a keeper that has kept the job since its end.
#[test]
fn the_end_of_lingering_is_told_once_though_a_keeper_is_killed_at_any_step() {
    let cells = [
        ("keeper:EndedRecorded", "unknown"),
        ("keeper:Reaped", "unknown"),
        ("keeper:LingeringEnded", "itself"),
        ("keeper:Closed", "itself"),
        ("keeper:Retired", "itself"),
    ];
    every(
        &cells,
        |cell| cell.0.to_owned(),
        |(hook, by)| {
            let world = World::new();
            let gate = Gate::new(&world);
            let id = leaving(
                &world,
                &gate,
                1,
                &["--session", ME],
                &format!("{hook}=kill"),
            );
            let end = only_event(&inbox(&world, &["--wait=30s"]));
            ack(&world, end["event"].as_str().unwrap());
            let is_early = *by == "unknown";
            // Otherwise the new keeper could be too late to see the process run.
            until("somebody keeps it", || {
                !is_early || world.events(&id, "kept").len() == 2
            });
            assert_eq!(world.show(&id)["lingering"], 1);
            gate.open();
            let event = told_once(&world, &id);
            assert_eq!(event["data"]["ended_by"], *by);
            assert_eq!(event["data"]["output"]["bytes_since_end"], 4);
            assert!(event["data"]["ended_at"].is_string(), "{event}");
        },
    );
}

#[test]
fn lingering_that_ended_unkept_is_told_only_as_gone() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = told_of_its_end(&world, &gate, 1);
    world.kill_both(&id);
    for pid in world.processes() {
        kill(pid, 9);
    }
    world.until_nothing_runs();
    unknown(&told_once(&world, &id));
}

#[test]
fn after_a_restart_lingering_is_told_only_as_gone() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = told_of_its_end(&world, &gate, 1);
    world.kill_both(&id);
    for pid in world.processes() {
        kill(pid, 9);
    }
    rewrite(&world, &id, "accepted", |accepted| {
        accepted["boot"] = json!("00000000-0000-0000-0000-000000000000");
    });
    unknown(&told_once(&world, &id));
}

fn unknown(event: &Value) {
    assert_eq!(event["data"]["ended_by"], "unknown", "{event}");
    assert!(event["data"]["ended_at"].is_null(), "{event}");
    assert!(event["data"]["after_ms"].is_null(), "{event}");
    let text = event["text"].as_str().unwrap();
    assert!(
        text.contains("the process it left behind has ended while nobody kept the job: when and how is not known"),
        "{text}"
    );
}

#[test]
fn a_job_whose_leftovers_nobody_was_told_of_is_not_pruned() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = told_of_its_end(&world, &gate, 1);
    gate.open();
    world.until_over(&id);
    let answer = world.json(&["prune", "--all", "--json"]);
    assert_eq!(answer["untold"], json!([id]));
    told_once(&world, &id);
    let answer = world.json(&["prune", "--all", "--json"]);
    assert_eq!(answer["removed"], json!([id]));
}
