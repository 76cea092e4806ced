//! Signals to the keeper and its standby, and launchers that ignore signals.

use outlive_testkit::checks::{assert_nothing_is_left, keepings};
use outlive_testkit::environment::behind;
use outlive_testkit::processes::{is_alive, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, start};
use outlive_testkit::world::World;

#[test]
fn no_signal_but_kill_moves_the_keeper_or_its_standby() {
    const SIGNALS: [i32; 9] = [1, 2, 3, 10, 12, 13, 14, 15, 17];
    let world = World::new();
    let id = start(&world, &format!("{WAITS} echo done; exit 7"));
    let pair = world.pair(&id);
    let standby = pair.standby.unwrap();
    for signal in SIGNALS {
        kill(pair.keeper, signal);
        kill(standby, signal);
    }
    // When the keeper answers this, it has handled all signals that were sent before.
    world.ok(&["signal", &id, "CONT"]);
    assert!(is_alive(pair.keeper) && is_alive(standby));
    let_go(&world);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 7);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.output(&id), b"done\n");
    assert_eq!(keepings(&world, &id), ["launched"]);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_launcher_that_ignores_sigchld_changes_nothing() {
    let world = World::new();
    let outlive = world.command(["run", "--shell", "echo hello; exit 7"]);
    let mut command = behind("env", ["--ignore-signal=CHLD"], &outlive);
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.trim_end();
    let waited = world.outlive(&["wait", id, "--timeout", "5s"]);
    assert_eq!(waited.code, 7, "{waited:?}");
    assert_eq!(world.output(id), b"hello\n");
}

#[test]
fn a_launcher_that_ignores_sigchld_does_not_keep_the_standby_from_taking_over() {
    let world = World::new();
    let outlive = world.command(["run", "--", "sleep", "60"]);
    let mut command = behind("env", ["--ignore-signal=CHLD"], &outlive);
    let id = Ran::of(&mut command).stdout.trim_end().to_owned();
    let pair = world.pair(&id);
    kill_for_good(pair.keeper);
    assert_eq!(world.job(&["stop", &id, "--json"])["exit_code"], 143);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
}
