//! What happens without a word from the other side. The waits of a minute are shortened to a second or less.

use super::{directory, world};
use outlive_core::wire::{Frame, Kind};
use outlive_testkit::places::CmdSh;
use outlive_testkit::processes::{begin, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::tap::{Blow, Direction, Tap};
use outlive_testkit::waiting::until;
use outlive_testkit::wire_client::WireClient;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const STOP: i32 = 19;

/// A far end leaves after 60 s, which is here a second.
#[test]
fn a_far_end_that_hears_nothing_leaves_and_its_jobs_stay() {
    let world = World::new();
    let mut far = WireClient::greeted_with(&world, |command| {
        command.env("OUTLIVE_HASTE", "60");
    });
    far.launch("job", &["sleep", "600"]);
    // What it hears keeps it.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        far.send(&Frame::new(0, Kind::Ping, []));
        thread::sleep(Duration::from_millis(100));
    }
    assert!(
        far.call(outlive_core::far::Call::Standing { jobs: Vec::new() })
            .is_ok()
    );
    let heard = Instant::now();
    assert!(far.until_gone().success());
    let after = heard.elapsed();
    assert!(after >= Duration::from_millis(900), "after {after:?}");
    assert!(after < Duration::from_secs(10), "after {after:?}");
    assert_eq!(world.show("job")["state"], "running");
    world.ok(&["stop", "job"]);
}

/// A courier gives a wire up after 45 s, which is here less than a second.
#[test]
fn a_courier_gives_up_a_wire_over_which_nothing_comes() {
    let tap = Arc::new(Tap::default());
    let mut world = World::at(tap.clone());
    world.set("OUTLIVE_HASTE", "60");
    world.ok(&["run", "--id", "job", "--session", "s", "--", "sleep", "600"]);
    let waiter = begin(world.command(["wait", "job"]));
    // A quiet wire is no silent one: pings are answered.
    let connections = tap.connections();
    thread::sleep(Duration::from_millis(2500));
    assert_eq!(tap.connections(), connections);
    let ran = tap.passed();
    assert!(ran.iter().any(|part| part.contains("ping")), "{ran:?}");
    // From now on nothing comes. The connection stays open.
    tap.strike(Direction::Here, 1, Blow::Silence);
    until("the place is reached over another wire", || {
        tap.connections() > connections
    });
    assert_eq!(world.show("job")["state"], "running");
    world.ok(&["stop", "job"]);
    assert_eq!(Ran::end_of(waiter).code, 143);
}

/// The far end is suspended, so the connection stays and nobody answers.
#[test]
fn a_far_end_that_is_suspended_is_given_up_and_the_reason_is_known() {
    let mut world = world();
    world.set("OUTLIVE_HASTE", "60");
    world.ok(&["run", "--id", "job", "--", "sleep", "600"]);
    let waiter = begin(world.command(["wait", "job"]));
    let first = world.far_ends();
    for far in &first {
        kill(far.pid, STOP);
    }
    until("there is another one", || {
        world
            .far_ends()
            .iter()
            .any(|far| !first.iter().any(|it| it.pid == far.pid))
    });
    let log = fs::read_to_string(directory(&world).join("log")).unwrap();
    assert!(log.contains("no answer in time"), "{log}");
    assert_eq!(world.show("job")["state"], "running");
    world.ok(&["stop", "job"]);
    assert_eq!(Ran::end_of(waiter).code, 143);
}

/// After 10 s, which are here half a second, and once.
#[test]
fn who_waits_is_told_that_the_place_is_not_reached() {
    let mut world = world();
    world.set("OUTLIVE_HASTE", "20");
    let up = world.path("up");
    fs::write(&up, "").unwrap();
    let there = CmdSh::default().address(&world.path_there(""));
    let script = world.path("go");
    let test = format!(
        "[ -e '{}' ] || {{ echo 'the link is down' >&2; exit 1; }}",
        up.display()
    );
    let there = there.strip_prefix("cmd:").unwrap();
    fs::write(&script, format!("{test}\nexec {there}\n")).unwrap();
    let place = format!("cmd:sh {}", script.display());
    world.ok(&[
        "run", "--place", &place, "--id", "job", "--", "sleep", "600",
    ]);
    fs::remove_file(&up).unwrap();
    world.kill_couriers();
    for json in [&["--json"][..], &[]] {
        let mut args = vec!["wait", "job", "--timeout", "5s"];
        args.extend(json);
        let ran = world.outlive(&args);
        assert_eq!(ran.code, 124, "{ran:?}");
        let told = ran.stderr.matches("the link is down").count();
        assert_eq!(told, 1, "{ran:?}");
        assert!(ran.stderr.contains("waiting"), "{ran:?}");
        if !json.is_empty() {
            let answer: Value = serde_json::from_slice(&ran.bytes).unwrap();
            assert_eq!(answer["jobs"][0]["state"], "unreachable", "{answer}");
        }
    }
    let quiet = world.outlive(&["wait", "job", "--timeout", "2s", "--quiet"]);
    assert_eq!(quiet.stderr, "", "{quiet:?}");
    fs::write(&up, "").unwrap();
    world.ok(&["stop", "job"]);
}
