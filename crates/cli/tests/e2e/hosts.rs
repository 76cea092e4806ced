//! One home seen from two PID namespaces, like that of a container and its host. Neither side draws conclusions about
//! the jobs of the other.

use outlive_testkit::checks::{exited, until_output};
use outlive_testkit::gate::Gate;
use outlive_testkit::namespaces::{PID_NAMESPACE, in_pid_namespace};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn shown_elsewhere(world: &World, id: &str) -> Value {
    let ran = world.outlive_elsewhere(&["show", id, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A PID namespace in which a job was started. It ends when this is dropped.
struct Container(Child);

impl Container {
    fn with_job(world: &World, id: &str, options: &str, command: &str) -> Container {
        let outlive = outlive_testkit::programs::outlive();
        let script = format!("{outlive} run --id {id} {options} -- {command} && exec sleep 60");
        let words = [&PID_NAMESPACE[..], &["sh", "-c", &script]].concat();
        let mut command = world.within("unshare", words);
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        until("the job was started there", || {
            fs::read_to_string(world.job_dir(id).join("journal"))
                .is_ok_and(|journal| journal.contains("\"started\""))
        });
        Container(child)
    }

    fn end(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_job_that_runs_here_is_unreachable_from_there_and_not_lost() {
    needs!(Root);
    let world = World::new();
    let gate = Gate::new(&world);
    let script = format!("echo here; {}", gate.then("exit 4"));
    let id = world.ok(&["run", "--stdin", "pipe", "--shell", &script]);
    until_output(&world, &id, "here\n");
    let journal = world.journal(&id);

    let shown = shown_elsewhere(&world, &id);
    assert_eq!(shown["state"], "unreachable", "{shown}");
    assert_eq!(
        (&shown["outcome"], &shown["exit_code"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(shown["pid"], Value::Null, "it means another process there");
    assert_eq!(
        shown["last"],
        json!({"state": "running", "output_bytes": 5})
    );
    let host = shown["unreachable"]["host"].as_str().unwrap();
    let reason = shown["unreachable"]["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("kept on {host}")), "{shown}");

    let begun = Instant::now();
    let waited = world.outlive_elsewhere(&["wait", &id, "--timeout", "300ms"]);
    assert_eq!(waited.code, 124, "{waited:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "its own time counts"
    );
    for args in [
        &["stop", &id][..],
        &["signal", &id, "TERM"],
        &["send", &id, "x"],
    ] {
        let ran = world.outlive_elsewhere(args);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains("kept on"), "{ran:?}");
    }
    let listed = world.outlive_elsewhere(&["list"]);
    assert!(listed.stdout.contains("unreachable: kept on"), "{listed:?}");
    assert_eq!(world.outlive_elsewhere(&["log", &id]).stdout, "here\n");
    assert_eq!(
        world.outlive_elsewhere(&["prune", "--all", "--force"]).code,
        0
    );

    assert_eq!(world.journal(&id), journal, "nobody there wrote to it");
    assert_eq!(world.show(&id)["state"], "running");
    gate.open();
    assert_eq!(world.outlive(&["wait", &id]).code, 4);
    assert_eq!(shown_elsewhere(&world, &id)["outcome"], exited(4));
}

#[test]
fn a_wait_from_another_namespace_ends_with_the_record() {
    needs!(Root);
    let world = World::new();
    let id = sleeper(&world, &[]);
    let mut wait = in_pid_namespace(&world.command(["wait", &id]));
    let wait = wait.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    world.ok(&["stop", &id]);
    let ran = Ran::end_of(wait.unwrap());
    assert_eq!(ran.code, 128 + 15, "{ran:?}");
}

#[test]
fn a_job_without_keepers_is_not_adopted_from_there() {
    needs!(Root);
    let world = World::new();
    let id = sleeper(&world, &[]);
    world.kill_both(&id);
    assert_eq!(shown_elsewhere(&world, &id)["state"], "unreachable");
    assert_eq!(world.events(&id, "kept").len(), 1);
    assert_eq!(world.show(&id)["state"], "running", "from here it is");
    assert_eq!(world.events(&id, "kept").len(), 2);
}

#[test]
fn a_job_of_a_container_is_lost_only_once_the_container_has_ended() {
    needs!(Root);
    let world = World::new();
    let container = Container::with_job(&world, "inside", "", "sleep 60");
    let shown = world.show("inside");
    assert_eq!(shown["state"], "unreachable", "{shown}");
    container.end();
    // The kernel kills the processes of the namespace, which may take a moment.
    until("it is over", || world.show("inside")["state"] == "ended");
    let shown = world.show("inside");
    assert_eq!(shown["outcome"]["kind"], "lost", "{shown}");
    let reason = shown["outcome"]["reason"].as_str().unwrap();
    assert!(reason.contains("PID namespace"), "{shown}");
}

/// A job on a terminal does not hold the feed open, so a client out here cannot tell whether it still runs.
#[test]
fn a_terminal_job_of_an_ended_container_stays_unreachable() {
    needs!(Root);
    let world = World::new();
    let container = Container::with_job(&world, "inside", "--pty", "sleep 60");
    container.end();
    assert_eq!(world.show("inside")["state"], "unreachable");
}

#[test]
fn the_journal_names_the_host() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let accepted = world.events(&id, "accepted").remove(0);
    let name = Ran::of(Command::new("uname").arg("-n")).stdout;
    assert_eq!(accepted["host"]["name"], name.trim_end());
    assert!(accepted["host"]["pid_namespace"].as_u64().unwrap() > 0);
    kill_for_good(world.leader(&id));
}
