//! A real server of SWE-ReX.

use super::{assert_exact, start, told};
use outlive_testkit::places::SweRex;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn jobs_at_a_server_of_swe_rex() {
    needs!(SweRex);
    let rex = Arc::new(SweRex::default());
    let world = World::at(rex.clone());
    start(&world, "job", "cat; seq 1 2000; printf '\\377\\n'; exit 7");
    world.ok(&["send", "job", "one", "--enter"]);
    let waiter = begin(world.command(["wait", "job"]));
    // The server does one thing at a time, and others need it too.
    for _ in 0..10 {
        let begun = Instant::now();
        assert!(rex.is_alive(&world.path_there("")));
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{:?}",
            begun.elapsed()
        );
    }
    // The sandbox is the machine, and so the job does not notice that its server was killed.
    rex.kill(&world.path_there(""));
    until("it is not reached", || {
        world.show("job")["state"] == "unreachable"
    });
    rex.serve(&world.path_there("")).unwrap();
    world.ok(&["send", "job", "two", "--enter", "--eof"]);
    assert_eq!(Ran::end_of(waiter).code, 7);
    let output = [b"one\ntwo\n".as_slice(), &numbers(2000), b"\xff\n"].concat();
    assert_exact(&world, "job", 7, &output);

    // A variable travels in the environment of a command, where only its user can see it.
    let mut run = world.command(["run", "--id", "secret", "--env", "TOKEN"]);
    run.args(["--shell", "exit ${#TOKEN}"]);
    let ran = Ran::of(run.env("TOKEN", "s3cr3t"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.outlive(&["wait", "secret"]).code, 6);

    world.ok(&["run", "--id", "long", "--session", "s", "--", "sleep", "60"]);
    world.ok(&["stop", "long"]);
    assert_eq!(told(&world), ["long ended"]);
}

#[test]
fn a_wrong_token_is_refused_and_the_fix_is_named() {
    needs!(SweRex);
    let world = World::at(Arc::new(SweRex::default()));
    let mut run = world.command(["run", "--id", "job", "--", "true"]);
    let ran = Ran::of(run.env("REX_TOKEN", "not-the-token"));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("it refuses the token"), "{ran:?}");
    assert!(!ran.stderr.contains("not-the-token"), "{ran:?}");
}
