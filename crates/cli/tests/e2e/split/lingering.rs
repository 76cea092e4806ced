//! Feeds that are closed, reopened or held by somebody else, one without the other; and watches.

use super::{SAID, ended, start, stream};
use outlive_testkit::checks::{assert_nothing_is_left, exited, until_wrote};
use outlive_testkit::scripts::{WAITS, let_go, ok};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn a_process_that_holds_only_stderr_lingers() {
    for (held, closed) in [("--stderr", ">/dev/null"), ("--stdout", "2>/dev/null")] {
        let world = World::new();
        let to = if held == "--stderr" { ">&2" } else { "" };
        let script = format!("({WAITS} echo late {to}) {closed} & echo main; exit 3");
        let id = start(&world, &[], &script);
        let job = world.wait(&id);
        assert_eq!(job["outcome"], exited(3), "{job}");
        assert_ne!(job["lingering"], 0, "{job}");
        let_go(&world);
        assert_nothing_is_left(&world, &id);
        let late = stream(&world, &id, held);
        assert!(late.ends_with(b"late\n"), "{late:?}");
        assert_eq!(world.events(&id, "lingering_ended").len(), 1);
    }
}

#[test]
fn a_stream_that_is_closed_and_opened_again_goes_on() {
    let world = World::new();
    let script = format!(
        "echo first >&2; exec 2>&-; echo out; {WAITS} exec 2>\"$OUTLIVE_JOB_DIR/feed.err\"; echo again >&2; exit 4"
    );
    let id = start(&world, &[], &script);
    until_wrote(&world, &id, "out\n");
    let_go(&world);
    assert_eq!(world.wait(&id)["outcome"], exited(4));
    assert_eq!(stream(&world, &id, "--stderr"), b"first\nagain\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn an_adopted_job_whose_stderr_nobody_holds_ends() {
    let world = World::new();
    let script = format!("exec 2>/dev/null; echo up; {WAITS} echo done; exit 6");
    let id = start(&world, &[], &script);
    until_wrote(&world, &id, "up\n");
    world.kill_both(&id);
    world.show(&id);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 6);
    assert_eq!(stream(&world, &id, "--stdout"), b"up\ndone\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn watches_and_signs_read_both_streams() {
    let world = World::new();
    let options = [
        "--session",
        "s",
        "--watch",
        "ERROR",
        "--ready",
        "line:^listening",
    ];
    let script = format!(
        "{SAID}echo ERROR one >&2; said 10; echo ERROR two; said 20; echo listening >&2; exit 2"
    );
    let id = ended(&world, &options, &script);
    let job = world.show(&id);
    assert_eq!(
        (&job["matches"], &job["ready"]),
        (&2.into(), &true.into()),
        "{job}"
    );
}

#[test]
fn a_job_that_waits_for_its_lock_has_both_streams_later() {
    let world = World::new();
    let first = ok(
        &world,
        &["run", "--lock", "l", "--shell", &format!("{WAITS} true")],
    );
    let id = start(&world, &["--lock", "l"], "echo out; echo err >&2; exit 5");
    assert_eq!(world.show(&id)["state"], "waiting");
    let_go(&world);
    world.wait(&first);
    assert_eq!(world.wait(&id)["exit_code"], 5);
    assert_eq!(stream(&world, &id, "--stdout"), b"out\n");
    assert_eq!(stream(&world, &id, "--stderr"), b"err\n");
    until("it is over", || !world.live(&id).exists());
}
