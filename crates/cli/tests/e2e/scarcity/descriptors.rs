//! A low limit on file descriptors.

use super::{assert_calm, assert_whole_or_refused, limited};
use outlive_testkit::processes::{INT, begin, is_alive, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::trace::attach;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::process::{Command, Stdio};

#[test]
fn a_launch_with_few_descriptors_is_whole_or_refused() {
    let world = World::new();
    let other = world.ok(&["run", "--", "sleep", "60"]);
    let mut worked = 0;
    // With three descriptors the loader cannot even load the program.
    for count in [
        4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 31, 32, 33, 36, 40,
    ] {
        let id = format!("n{count}");
        let limit = format!("ulimit -n {count}");
        let args = ["run", "--id", &id, "--shell", "exit 5"];
        let ran = Ran::of(&mut limited(&world, &limit, &args));
        assert_whole_or_refused(&ran, &id, |args| world.outlive(args), &limit);
        worked += usize::from(ran.code == 0);
        until(&format!("only the other job is left, {limit}"), || {
            world.processes().len() == 3
        });
    }
    assert_eq!(worked, 4, "those with 32 and more");
    assert_eq!(world.show(&other)["state"], "running");
    assert_eq!(world.events(&other, "kept").len(), 1);
}

#[test]
fn a_low_limit_on_descriptors_is_the_jobs_own_and_not_the_keepers() {
    let world = World::new();
    let ran = Ran::of(&mut limited(
        &world,
        "ulimit -S -n 16",
        &["run", "--wait", "--shell", "ulimit -S -n; ulimit -H -n"],
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    let hard = Ran::of(Command::new("bash").args(["-c", "ulimit -H -n"])).stdout;
    assert_eq!(ran.stdout, format!("16\n{hard}"));
}

#[test]
fn every_verb_with_few_descriptors_works_or_says_why_not() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for count in 4..=10 {
        for args in [
            &["list"][..],
            &["show", &id],
            &["log", &id],
            &["wait", &id, "--timeout", "1ms"],
            &["signal", &id, "CONT"],
            &["prune"],
        ] {
            let ran = Ran::of(&mut limited(&world, &format!("ulimit -n {count}"), args));
            assert_calm(&ran);
            let fine = matches!(ran.code, 0 | 124);
            assert!(
                fine || ran.stderr.starts_with("outlive: "),
                "{count} {args:?}: {ran:?}"
            );
        }
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn more_waiters_than_a_keeper_has_descriptors_all_hear_of_the_end() {
    let world = World::new();
    let script = format!("{}; exit 5", loop_until(&world.path("go")));
    let args = ["run", "--id", "x", "--shell", &script];
    let ran = Ran::of(&mut limited(&world, "ulimit -n 36", &args));
    assert_eq!(ran.code, 0, "{ran:?}");
    let keeper = world.pair("x").keeper;
    let waiters: Vec<_> = (0..40)
        .map(|_| {
            world
                .command(["wait", "x", "--timeout", "20s"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    until("the keeper has used what it may", || {
        let open = fs::read_dir(format!("/proc/{keeper}/fd"));
        open.map_or(0, Iterator::count) >= 20 || !is_alive(keeper)
    });
    File::create(world.path("go")).unwrap();
    for mut waiter in waiters {
        assert_eq!(waiter.wait().unwrap().code(), Some(5));
    }
    assert_eq!(world.events("x", "ended").len(), 1);
    assert_eq!(
        world.events("x", "kept").len(),
        1,
        "it was not killed by it"
    );
    assert_ne!(world.show("x")["usage"], Value::Null);
}

/// The keeper cannot open what it needs for its answer. The client must not wait for ever.
#[test]
fn a_request_that_fails_for_want_of_descriptors_is_answered_all_the_same() {
    needs!(Strace);
    let world = World::new();
    let id = world.ok(&["run", "--stdin", "pipe", "--", "cat"]);
    let trace = world.path("trace");
    let inject = "inject=pidfd_open:error=EMFILE:when=1";
    let options = ["-e", "trace=pidfd_open", "-e", inject];
    let mut strace = attach(&trace, &options, &[world.pair(&id).keeper]);
    let mut show = begin(world.command(["show", &id, "--json"]));
    until("it is answered", || show.try_wait().unwrap().is_some());
    kill(strace.id() as i32, INT);
    strace.wait().unwrap();
    let calls = fs::read_to_string(trace).unwrap();
    assert!(calls.contains("EMFILE"), "nothing failed: {calls}");
    let ran = Ran::end_of(show);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("\"running\""), "{ran:?}");
}
