//! The end is synced to disk before any client is told.

use super::only_end;
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{CONT, KILL, begin, kill, until_blocked, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::trace::strace;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};

#[test]
fn nobody_is_told_before_the_end_is_in_the_journal() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:OutputSynced=stop", &gate.then("echo x; exit 6"));
    let mut waiter = waiting(&world, &id);
    gate.open();
    let keeper = world.until_keeper_stops(&id);
    assert_eq!(world.events(&id, "ended").len(), 0);
    assert_eq!(world.output(&id), b"x\n");
    assert_eq!(world.show(&id)["state"], "running");
    // A second waiter gets no answer either, and times out.
    assert_eq!(
        world.outlive(&["wait", &id, "--timeout", "200ms"]).code,
        124
    );
    assert_eq!(waiter.try_wait().unwrap(), None);
    kill(keeper, CONT);
    assert_eq!(waiter.wait().unwrap().code(), Some(6));
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn the_end_is_in_the_journal_while_the_keeper_has_told_nobody_yet() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:EndedRecorded=stop", &gate.then("exit 6"));
    let mut waiter = waiting(&world, &id);
    gate.open();
    let keeper = world.until_keeper_stops(&id);
    assert_eq!(only_end(&world, &id)["outcome"]["code"], 6);
    assert_eq!(waiter.try_wait().unwrap(), None);
    // A client that asks now reads the end in the journal, without the keeper.
    assert_eq!(world.wait(&id)["exit_code"], 6);
    kill(keeper, CONT);
    assert_eq!(waiter.wait().unwrap().code(), Some(6));
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn output_and_journal_are_synced_before_the_waiter_is_told() {
    needs!(Strace);
    let world = World::new();
    let calls = traced_end(&world, "", LONG);
    let at = |what: &str, found: &dyn Fn(&str) -> bool| {
        let places: Vec<usize> = (0..calls.len()).filter(|n| found(&calls[*n])).collect();
        *places
            .first()
            .unwrap_or_else(|| panic!("no {what} in {calls:#?}"))
    };
    let ended = at("end", &is_end);
    let output = at("output sync", &|call| {
        call.contains("sync(") && call.contains("/output>")
    });
    let journal = at("journal sync", &is_journal_sync);
    let told = last_news(&calls);
    assert!(
        output < ended && ended < journal && journal < told,
        "{calls:#?}"
    );
}

/// A power loss after the answer must not lose the end, nor the fact that the session still has to be told.
#[test]
fn the_directories_of_the_job_are_synced_before_the_waiter_is_told() {
    needs!(Strace);
    assert_findable_before_the_end("", LONG);
}

/// This job ends before its standby has started to sync.
#[test]
fn a_job_that_ends_at_once_is_synced_before_the_waiter_is_told() {
    needs!(Strace);
    assert_findable_before_the_end("", "echo x");
}

#[test]
fn the_keeper_syncs_the_end_if_the_standby_dies_during_it() {
    needs!(Strace);
    assert_findable_before_the_end("standby:Syncs=kill", LONG);
}

/// The killed keeper may have died between writing the end and syncing it.
#[test]
fn an_heir_syncs_the_end_it_finds_before_it_tells() {
    needs!(Strace);
    let world = World::new();
    let calls = traced_end(&world, "keeper:EndedRecorded=kill", LONG);
    // Other processes may have continued before the kill appears in the trace.
    let written = calls
        .iter()
        .position(|call| is_end(call))
        .unwrap_or_else(|| panic!("no end in {calls:#?}"));
    let after = &calls[written..];
    assert!(
        after.iter().any(|call| call.contains("killed by SIGKILL")),
        "{calls:#?}"
    );
    // The waiting client may find the end at the same time. It must sync the journal first, too.
    let noted = |call: &&String| call.contains("write(") && call.contains("/ended/");
    let writers: Vec<&str> = after.iter().filter(noted).map(|call| pid(call)).collect();
    assert!(!writers.is_empty(), "{calls:#?}");
    for writer in writers {
        let own = |call: &&String| pid(call) == writer && (noted(call) || is_journal_sync(call));
        let first = after.iter().find(own);
        assert!(
            first.is_some_and(|call| is_journal_sync(call)),
            "{writer}: {calls:#?}"
        );
    }
}

fn pid(call: &str) -> &str {
    call.split(' ').next().unwrap_or_default()
}

#[test]
fn a_verb_syncs_the_end_it_finds_when_both_keepers_are_gone() {
    needs!(Strace);
    let world = World::new();
    let id = world.shell_with_hooks("keeper:EndedRecorded=stop", "exit 6");
    world.until_keeper_stops(&id);
    let pair = world.pair(&id);
    for keeper in [pair.standby.unwrap(), pair.keeper] {
        kill(keeper, KILL);
    }
    world.until_nothing_runs();
    let (_, text) = traced_verb(&world, &["show", &id]);
    let synced = text.lines().position(is_journal_sync);
    let retired = text.lines().position(|call| call.contains("/live/"));
    assert!(synced.is_some() && synced < retired, "{text}");
}

/// The keeper has written the end and told no client, so the end may not be on the disk yet.
#[test]
fn an_inbox_syncs_the_end_it_finds_before_the_keeper_tells() {
    needs!(Strace);
    let world = World::new();
    for lingers in ["", "sleep 1000 & "] {
        let script = format!("{lingers}exit 6");
        let run = Ran::of(
            world
                .command(["run", "--session", "s", "--shell", &script])
                .env("OUTLIVE_HOOKS", "keeper:EndedRecorded=stop"),
        );
        let id = run.stdout.trim_end().to_owned();
        let keeper = world.until_keeper_stops(&id);
        let (inbox, text) = traced_verb(&world, &["inbox", "--session", "s"]);
        assert!(inbox.contains(&id), "{inbox}");
        assert!(text.lines().any(is_journal_sync), "{script}: {text}");
        kill(keeper, CONT);
        world.outlive(&["stop", &id]);
    }
}

/// Runs a verb. Returns what it printed, and a trace of its syncs and removals.
fn traced_verb(world: &World, verb: &[&str]) -> (String, String) {
    let trace = world.path("trace");
    let options = ["-f", "-y", "-e", "trace=fsync,fdatasync,unlink"];
    let ran = Ran::of(&mut strace(&world.command(verb), &trace, &options));
    assert_eq!(ran.code, 0, "{ran:?}");
    (ran.stdout.clone(), fs::read_to_string(trace).unwrap())
}

/// The job has ended, and that may not be on the disk yet. The launcher does not wait for it: it reports a running
/// job.
#[test]
fn a_launcher_that_finds_the_end_tells_the_start() {
    let world = World::new();
    let mut run = world.command(["run", "--id", "x", "--json", "--", "true"]);
    run.env("OUTLIVE_HOOKS", "launcher:KeeperSpawned=stop");
    let launcher = begin(run);
    until_stopped(launcher.id() as i32);
    until("it has ended", || {
        world.home().join("jobs/x").exists() && world.events("x", "ended").len() == 1
    });
    kill(launcher.id() as i32, CONT);
    let ran = Ran::end_of(launcher);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&"running".into(), &Value::Null)
    );
}

fn is_end(call: &str) -> bool {
    call.contains("write(") && call.contains("\\\"ended\\\":")
}

fn is_journal_sync(call: &str) -> bool {
    call.contains("sync(") && call.contains("/journal>")
}

fn assert_findable_before_the_end(hooks: &str, script: &str) {
    let world = World::new();
    let calls = traced_end(&world, hooks, script);
    let journal = calls.iter().position(|call| is_journal_sync(call));
    let id = &names_in(&world.home().join("jobs"))[0];
    let directory = format!("/jobs/{id}>");
    for what in [
        "/spec.json>",
        &directory,
        "/jobs>",
        "/inbox/s>",
        "/inbox>",
        "/sessions/s>",
        "/sessions>",
    ] {
        let synced = calls
            .iter()
            .position(|call| call.contains("sync(") && call.contains(what));
        assert!(synced.is_some() && synced < journal, "{what}: {calls:#?}");
    }
}

/// Long enough for the standby to sync the directories.
const LONG: &str = "echo x; sleep 0.3";

/// Runs a job with `--wait`, and returns the traced system calls of all processes.
fn traced_end(world: &World, hooks: &str, script: &str) -> Vec<String> {
    let trace = world.path("trace");
    let mut outlive = world.command([
        "run",
        "--session",
        "s",
        "--name",
        "n",
        "--wait",
        "--shell",
        script,
    ]);
    outlive.env("OUTLIVE_HOOKS", hooks);
    let calls = "trace=fsync,fdatasync,write,sendto";
    let options = ["-f", "-y", "-s", "4096", "-e", calls];
    let ran = Ran::of(&mut strace(&outlive, &trace, &options));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "x\n"), "{ran:?}");
    world.until_nothing_runs();
    let text = fs::read_to_string(trace).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The position of the answer in which the keeper tells the client the newest event.
fn last_news(calls: &[String]) -> usize {
    let told = |call: &String| call.contains("sendto(") && call.contains("\\\"news\\\":");
    // The client's requests look similar, but only the answer has the number of the newest event.
    let newest = r#"\"seq\":6"#;
    calls
        .iter()
        .position(|call| told(call) && call.contains(newest))
        .unwrap_or_else(|| panic!("nobody was told in {calls:#?}"))
}

fn waiting(world: &World, id: &str) -> Child {
    let child = world
        .command(["wait", id])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until_blocked(child.id() as i32);
    child
}
