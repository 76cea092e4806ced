//! Every verb works on a job that waits for its lock.

use super::{assert_ran_after, assert_waits, holder, waiter};
use outlive_sys::clock;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{let_go, send_line, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

#[test]
fn a_waiting_job_names_the_lock_and_its_holder() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "true");
    let shown = world.ok(&["show", &second]);
    let said = format!("waiting for the lock x, which {first} has");
    assert!(shown.contains(&said), "{shown}");
    let listed = world.ok(&["list"]);
    let said = format!("waiting for {first} (x)");
    assert!(listed.contains(&said), "{listed}");
    let in_list = world.json(&["list", "--json"]);
    let jobs = in_list["jobs"].as_array().unwrap();
    let job = jobs.iter().find(|job| job["id"] == *second).unwrap();
    assert_eq!(job["waiting_for"]["holder"], first.as_str(), "{job}");
    assert_eq!(world.listed(&["--state", "running"]).len(), 2);
    let has = jobs.iter().find(|job| job["id"] == *first).unwrap();
    assert_eq!(has["state"], "running");
    assert_eq!(has.get("waiting_for"), None, "{has}");
}

#[test]
fn the_verbs_work_on_a_waiting_job() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &["--session", "s"], "echo ran");
    let ran = world.outlive(&["wait", &second, "--timeout", "10ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert!(ran.stdout.contains("waiting for the lock x"), "{ran:?}");
    assert_eq!(world.ok(&["log", &second]), "");
    let signaled = world.json(&["signal", &second, "TERM", "--json"]);
    assert_eq!(signaled["reached"], 0);
    let none = world.outlive(&["inbox", "--session", "s", "--format", "json"]);
    assert_eq!(
        (none.code, none.stdout.contains(&second)),
        (0, false),
        "{none:?}"
    );
    assert_waits(&world, &second, &first);
    let waiting = begin(world.command(["wait", &second]));
    let following = begin(world.command(["log", &second, "--follow"]));
    let_go(&world);
    assert_eq!(Ran::end_of(waiting).code, 0);
    assert_eq!(Ran::end_of(following).stdout, "ran\n");
    assert_ran_after(&world, &second, &first);
}

#[test]
fn the_end_of_a_waiting_job_is_in_the_inbox() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &["--session", "s"], "true");
    let inbox = begin(world.command(["inbox", "--session", "s", "--wait=30s", "--format", "json"]));
    let_go(&world);
    let told = Ran::end_of(inbox);
    assert!(told.stdout.contains(&format!("{second}:")), "{told:?}");
}

#[test]
fn run_wait_waits_for_the_lock_and_the_job() {
    let world = World::new();
    let first = holder(&world);
    let args = ["run", "--lock", "x", "--id", "second", "--wait"];
    let mut command = with_go(&world, &args);
    command.args(["--shell", "echo ran; exit 7"]);
    let run = begin(command);
    let is_waiting = || {
        let ran = world.outlive(&["show", "second", "--json"]);
        serde_json::from_str::<Value>(&ran.stdout).is_ok_and(|job| job["state"] == "waiting")
    };
    until("it waits", is_waiting);
    let_go(&world);
    let ran = Ran::end_of(run);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "ran\n"), "{ran:?}");
    assert!(world.boot_ms("second", "spawned") >= world.boot_ms(&first, "ended"));
}

#[test]
fn run_wait_with_a_limit_returns_while_the_job_waits() {
    let world = World::new();
    let first = holder(&world);
    let args = ["run", "--lock", "x", "--json", "--wait=50ms", "--", "true"];
    let ran = world.outlive(&args);
    assert_eq!(ran.code, 124, "{ran:?}");
    let job: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "waiting");
    assert_eq!(job["waiting_for"]["holder"], first.as_str());
}

#[test]
fn the_timeout_of_a_waiting_job_counts_from_its_start() {
    const TIME_MS: u64 = 300;
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &["--timeout", "300ms"], "exec sleep 60");
    let accepted = world.boot_ms(&second, "accepted");
    until("its time would be up", || {
        clock::boot_ms() > accepted + TIME_MS + 50
    });
    assert_waits(&world, &second, &first);
    let_go(&world);
    let job = world.wait(&second);
    assert_eq!(job["ended_by"], "timeout", "{job}");
    let ran_for = world.boot_ms(&second, "ended") - world.boot_ms(&second, "started");
    assert!(ran_for >= TIME_MS, "{ran_for}");
}

/// Input that is sent to a waiting job is there when it starts.
#[test]
fn a_waiting_job_can_be_talked_to() {
    let world = World::new();
    let first = holder(&world);
    let piped = waiter(&world, &first, &["--stdin", "pipe"], "cat");
    let typed = waiter(
        &world,
        &first,
        &["--pty"],
        "read -r line; echo \"got $line\"; tty",
    );
    send_line(&world, &piped, "hello");
    world.ok(&["send", &piped, "--eof"]);
    send_line(&world, &typed, "there");
    let_go(&world);
    assert_ran_after(&world, &piped, &first);
    assert_ran_after(&world, &typed, &first);
    assert_eq!(world.output(&piped), b"hello\n");
    let said = String::from_utf8(world.output(&typed)).unwrap();
    assert!(said.contains("got there\r\n/dev/pts/"), "{said:?}");
}
