//! SIGKILL for every process between here and there, and for those that keep the job there.

use super::{
    assert_exact, by_command, counted, over_ssh, random, starts, until_nothing_runs_there,
};
use outlive_testkit::checks::every;
use outlive_testkit::couriers::kill_all;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::thread;
use std::time::Duration;

/// How many jobs each test runs.
const ROUNDS: usize = 6;

/// Runs jobs of which each is started, written to and waited for while something is killed at a random moment.
fn exact_though(make: fn() -> World, kill: fn(&World)) {
    let rounds: Vec<usize> = (0..ROUNDS).collect();
    let check = |_: &usize| {
        let world = make();
        let micros = random(400_000);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_micros(micros));
                kill(&world);
            });
            let script = counted(&world, "job", "cat; seq 1 2000; exit 7");
            let args = ["run", "--id", "job", "--session", "s", "--stdin", "pipe"];
            world.ok(&[&args[..], &["--shell", &script]].concat());
            world.ok(&["send", "job", "0", "--enter", "--eof"]);
            world.wait("job");
        });
        let output = [b"0\n".as_slice(), &numbers(2000)].concat();
        assert_exact(&world, "job", 7, &output);
        until_nothing_runs_there(&world);
    };
    every(&rounds, |round| format!("round {round}"), check);
}

#[test]
fn a_job_is_exact_though_its_courier_is_killed() {
    exact_though(by_command, World::kill_couriers);
}

#[test]
fn a_job_is_exact_though_its_far_end_is_killed() {
    exact_though(by_command, World::kill_far_ends);
}

#[test]
fn a_job_is_exact_though_its_ssh_is_killed() {
    needs!(Ssh);
    exact_though(|| over_ssh().1, World::kill_transports);
}

#[test]
fn a_job_is_exact_though_the_session_of_its_sshd_is_killed() {
    needs!(Ssh);
    let (ssh, world) = over_ssh();
    let script = counted(&world, "job", "cat; exit 7");
    let args = ["run", "--id", "job", "--session", "s", "--stdin", "pipe"];
    world.ok(&[&args[..], &["--shell", &script]].concat());
    let server = ssh.server(&world.path_there(""));
    let waiter = begin(world.command(["wait", "job"]));
    kill_all(&server.sessions());
    world.ok(&["send", "job", "one", "--enter"]);
    kill_all(&server.sessions());
    world.ok(&["send", "job", "two", "--enter", "--eof"]);
    assert_eq!(Ran::end_of(waiter).code, 7);
    assert_exact(&world, "job", 7, b"one\ntwo\n");
    until_nothing_runs_there(&world);
}

#[test]
fn a_server_that_was_away_is_found_again_by_who_waits() {
    needs!(Ssh);
    let (ssh, world) = over_ssh();
    let go = world.path_there("go");
    let script = format!(
        "until [ -e '{}' ]; do sleep 0.02; done; exit 7",
        go.display()
    );
    let script = counted(&world, "job", &script);
    world.ok(&["run", "--id", "job", "--session", "s", "--shell", &script]);
    let waiter = begin(world.command(["wait", "job"]));
    let server = ssh.server(&world.path_there(""));
    let sessions = server.sessions();
    server.kill();
    kill_all(&sessions);
    until("the place is not reached", || {
        world.show("job")["state"] == "unreachable"
    });
    let job = world.show("job");
    assert_eq!(job["outcome"], serde_json::Value::Null, "{job}");
    assert_eq!(job["last"]["state"], "running", "{job}");
    world.place().write(&go, b"").unwrap();
    server.listen().unwrap();
    assert_eq!(Ran::end_of(waiter).code, 7);
    assert_exact(&world, "job", 7, b"");
}

#[test]
fn far_keepers_that_are_killed_lose_nothing() {
    for kill in [World::kill_keeper, World::kill_standby, World::kill_both] {
        let world = by_command();
        let args = ["run", "--id", "job", "--session", "s"];
        let go = world.path_there("go");
        let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
        let script = counted(&world, "job", &format!("seq 1 100; {wait}; exit 7"));
        world.ok(&[&args[..], &["--shell", &script]].concat());
        let waiter = begin(world.command(["wait", "job"]));
        kill(&world, "job");
        world.place().write(&go, b"").unwrap();
        assert_eq!(Ran::end_of(waiter).code, 7);
        assert_exact(&world, "job", 7, &numbers(100));
        until_nothing_runs_there(&world);
    }
}

#[test]
fn a_killed_client_leaves_its_job_alone_and_no_process_behind() {
    let world = by_command();
    let script = counted(&world, "job", "echo up; exec sleep 60");
    let mut client = begin(world.command(["run", "--id", "job", "--wait", "--shell", &script]));
    until("it has started", || starts(&world, "job") == 1);
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(world.show("job")["state"], "running");
    world.ok(&["stop", "job"]);
    until_nothing_runs_there(&world);
    kill_all(&world.couriers());
    until("the far ends leave with the courier", || {
        world.far_ends().is_empty()
    });
}
