//! The end of a job on a terminal, and its last output.

use super::as_shown;
use outlive_testkit::checks::{
    assert_nothing_is_left, assert_same_bytes, every, signaled, until_output,
};
use outlive_testkit::scripts::{numbers, ok, on_terminal};
use outlive_testkit::world::World;

#[test]
fn exit_codes_are_exact() {
    let world = World::new();
    for code in [0, 1, 3, 255] {
        let args = [
            "run",
            "--pty",
            "--wait",
            "--shell",
            &format!("echo out; exit {code}"),
        ];
        let ran = world.outlive(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, "out\r\n"));
    }
    let id = on_terminal(&world, "kill -USR1 $$");
    assert_eq!(world.wait(&id)["outcome"], signaled("SIGUSR1"));
}

#[test]
fn two_megabytes_written_just_before_the_end_are_all_there() {
    let world = World::new();
    let id = on_terminal(&world, "seq 1 300000; exit 3");
    assert_eq!(world.wait(&id)["exit_code"], 3);
    let expected = as_shown(&numbers(300_000));
    assert_same_bytes("output", &world.output(&id), &expected);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn no_short_job_loses_its_last_line() {
    let rounds: Vec<u32> = (0..50).collect();
    let world = World::new();
    every(&rounds, u32::to_string, |_| {
        let id = ok(&world, &["run", "--pty", "--", "echo", "last"]);
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_eq!(world.output(&id), b"last\r\n");
    });
}

#[test]
fn a_stop_ends_everything_on_and_off_the_terminal() {
    let world = World::new();
    let script =
        "trap '' HUP TERM; setsid sleep 100 & sleep 100 & echo up; while :; do sleep 100; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    let job = world.job(&["stop", &id, "--grace", "100ms", "--json"]);
    assert_eq!(job["exit_code"], 137, "{job}");
    assert_eq!(job["ended_by"], "stop");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn processes_that_stay_on_the_terminal_linger_and_can_be_stopped() {
    let world = World::new();
    let script = "trap '' HUP; sleep 100 & echo main; exit 5";
    let id = on_terminal(&world, script);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 5);
    assert_eq!(job["lingering"], 1, "{job}");
    assert_eq!(world.output(&id), b"main\r\n");
    world.ok(&["stop", &id]);
    assert_nothing_is_left(&world, &id);
    assert_eq!(world.show(&id)["exit_code"], 5);
}

#[test]
fn a_timeout_ends_a_job_on_a_terminal() {
    let world = World::new();
    let args = ["run", "--pty", "--timeout", "200ms", "--shell"];
    let id = ok(&world, &[&args[..], &["echo up; exec sleep 100"]].concat());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "timeout");
    assert_eq!(world.output(&id), b"up\r\n");
}
