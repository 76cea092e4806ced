//! Signals to the process in the foreground.

use super::{SAVES, SLEEPS, TERM, ask_to_end, by_place, command, ended, started};
use outlive_testkit::checks::{assert_nothing_is_left, until_wrote};
use outlive_testkit::environment::behind;
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{CONT, INT, begin, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{IGNORES, sleeper};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::process::Command;
use std::time::{Duration, Instant};

const HUP: i32 = 1;

#[test]
fn the_job_can_save_its_work() {
    for (signal, name) in [(TERM, "SIGTERM"), (INT, "SIGINT")] {
        let world = World::new();
        let child = started(&world, &[], SAVES);
        ask_to_end(&child, signal);
        let ran = Ran::end_of(child);
        assert_eq!(ran.code, 9, "{ran:?}");
        assert!(ran.stdout.ends_with("saved\n"), "{ran:?}");
        assert_eq!(ended(&world), by_place(name, 9));
        assert_nothing_is_left(&world, "job");
    }
}

#[test]
fn a_job_that_ignores_term_is_killed_after_its_grace() {
    let world = World::new();
    let child = started(&world, &["--grace", "300ms"], IGNORES);
    let asked = Instant::now();
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 137);
    assert!(asked.elapsed() >= Duration::from_millis(300));
    assert_eq!(ended(&world), by_place("SIGTERM", 137));
}

/// `timeout` sends the signal twice: to the process and to its group.
#[test]
fn a_second_signal_changes_nothing() {
    let world = World::new();
    let gate = Gate::new(&world);
    let then = gate.then("echo saved; exit 9");
    let script = format!("trap 'echo asked; {then}' TERM; echo up; while :; do sleep 0.02; done");
    let child = started(&world, &["--grace", "30s"], &script);
    ask_to_end(&child, TERM);
    until_wrote(&world, "job", "asked\n");
    ask_to_end(&child, TERM);
    ask_to_end(&child, INT);
    gate.open();
    let ran = Ran::end_of(child);
    assert_eq!((ran.code, ran.stdout.matches("asked").count()), (9, 1));
    assert_eq!(ended(&world), by_place("SIGTERM", 9));
    assert_eq!(world.events("job", "stop_requested").len(), 1);
}

#[test]
fn a_time_limit_around_it_stops_the_job() {
    let world = World::new();
    let around = command(&world, &[], SLEEPS);
    let ran = Ran::of(&mut behind("timeout", ["--preserve-status", "2"], &around));
    assert_eq!(ran.code, 143, "{ran:?}");
    assert_eq!(ended(&world), by_place("SIGTERM", 143));
    assert_nothing_is_left(&world, "job");
}

#[test]
fn the_record_names_the_process_that_got_the_signal() {
    let world = World::new();
    let child = started(&world, &["--session", "s"], SLEEPS);
    ask_to_end(&child, TERM);
    Ran::end_of(child);
    let shown = world.ok(&["show", "job"]);
    assert!(
        shown.contains("stopped with its foreground process"),
        "{shown}"
    );
    let told = world.ok(&["inbox", "--session", "s"]);
    let words = "stopped: its foreground process got SIGTERM";
    assert!(told.contains(words), "{told}");
}

#[test]
fn foreground_exits_with_the_code_of_a_stop_by_another_verb() {
    let world = World::new();
    let child = started(&world, &[], SLEEPS);
    world.ok(&["stop", "job"]);
    assert_eq!(Ran::end_of(child).code, 143);
    assert_eq!(world.show("job")["ended_by"], "stop");
}

#[test]
fn hup_and_signals_that_the_caller_ignores_do_not_stop_it() {
    let world = World::new();
    let inner = command(&world, &[], SAVES);
    let outer = behind("sh", ["-c", "trap '' INT; exec \"$@\"", "sh"], &inner);
    let child = begin(outer);
    super::until_up(&world);
    ask_to_end(&child, HUP);
    ask_to_end(&child, INT);
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 9);
    assert_eq!(ended(&world), by_place("SIGTERM", 9));
}

/// A signal that arrives before a keeper exists is not lost, and leaves no job without a keeper.
#[test]
fn a_signal_before_the_start_takes_effect_after_it() {
    let world = World::new();
    let mut command = command(&world, &[], "exec sleep 60");
    let child = begin({
        command.env("OUTLIVE_HOOKS", "launcher:Named=stop");
        command
    });
    until_stopped(child.id() as i32);
    ask_to_end(&child, TERM);
    kill(child.id() as i32, CONT);
    assert_eq!(Ran::end_of(child).code, 143);
    assert_eq!(ended(&world), by_place("SIGTERM", 143));
}

#[test]
fn a_signal_ends_a_foreground_job_that_waits_for_its_lock() {
    let world = World::new();
    let holder = sleeper(&world, &["--lock", "door"]);
    let child = begin(command(&world, &["--lock", "door"], "echo ran"));
    until("it waits", || {
        let shown = world.outlive(&["show", "job", "--json"]);
        shown.stdout.contains("\"state\":\"waiting\"")
    });
    ask_to_end(&child, TERM);
    let ran = Ran::end_of(child);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert_eq!(ended(&world), by_place("SIGTERM", 125));
    world.ok(&["stop", &holder]);
}

/// Syncing the job's directories can take long on a slow disk.
#[test]
fn a_slow_disk_does_not_delay_a_signal() {
    let world = World::new();
    let mut command = command(&world, &[], SAVES);
    command.env("OUTLIVE_HOOKS", "standby:Syncs=stop");
    let child = begin(command);
    super::until_up(&world);
    // Long enough for that sync to start.
    std::thread::sleep(Duration::from_millis(100));
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 9);
    assert_eq!(ended(&world), by_place("SIGTERM", 9));
}

#[test]
fn too_few_descriptors_do_not_delay_a_signal() {
    let world = World::new();
    let mut child = started(&world, &[], SAVES);
    let front = child.id().to_string();
    let none = Command::new("prlimit")
        .args(["--pid", &front, "--nofile=3:"])
        .status();
    assert!(none.unwrap().success());
    ask_to_end(&child, TERM);
    world.until_over("job");
    assert_eq!(ended(&world), by_place("SIGTERM", 9));
    child.wait().unwrap();
}
