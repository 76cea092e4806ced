//! SIGKILL for the courier at each of its steps.

use super::{begin_courier, counted, starts, told, world};
use outlive_testkit::checks::{every, exited};
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;

/// The steps on the way of a job that is started and ends.
const STEPS: [&str; 11] = [
    "Locked",
    "Listening",
    "Greeted",
    "Asked",
    "LaunchSent",
    "Launched",
    "Answered",
    "Appended",
    "Synced",
    "Acked",
    "Noted",
];

#[test]
fn a_job_is_exact_and_told_once_though_its_courier_is_killed_at_any_step() {
    every(
        &STEPS,
        |step| (*step).to_owned(),
        |step| {
            let world = world();
            begin_courier(&world, &format!("courier:{step}=kill"));
            let first = world.couriers();
            let script = counted(&world, "seq 1 1000; exit 7");
            world.ok(&["run", "--id", "job", "--session", "s", "--shell", &script]);
            let job = world.wait("job");
            assert_eq!(job["outcome"], exited(7), "{job}");
            assert_eq!(starts(&world), 1);
            assert_eq!(world.events("job", "ended").len(), 1);
            assert_eq!(told(&world), ["job ended"]);
            // Somebody has to look after a job whose courier was killed when it was over.
            world.ok(&["list"]);
            begin_courier(&world, "");
            world.ok(&["run", "--id", "other", "--wait", "--shell", "true"]);
            let live = world.home().join("live");
            until("nothing counts as running", || {
                live.read_dir().unwrap().next().is_none()
            });
            until("the first courier was killed", || {
                !first.iter().any(|courier| courier.is_alive())
            });
        },
    );
}

/// The launcher is killed when the job has its directory here, and the start was not sent.
#[test]
fn a_start_that_was_never_sent_is_settled_though_the_courier_is_killed_meanwhile() {
    let steps = [
        "",
        "courier:Stood=kill",
        "courier:NotStarted=kill",
        "courier:Noted=kill",
    ];
    every(
        &steps,
        |step| (*step).to_owned(),
        |step| {
            let world = world();
            let script = counted(&world, "exit 7");
            let args = ["run", "--id", "job", "--session", "s", "--shell", &script];
            let mut launcher = world.command(args);
            let ran = Ran::of(launcher.env("OUTLIVE_HOOKS", "launcher:Relinked=kill"));
            assert_ne!(ran.code, 0, "{ran:?}");
            world.kill_couriers();
            begin_courier(&world, step);
            let job = world.wait("job");
            assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
            assert_eq!(starts(&world), 0);
            assert_eq!(told(&world), ["job ended"]);
        },
    );
}

/// The courier that sent the start is killed, and none after it can begin.
#[test]
fn a_start_that_was_sent_is_not_called_unsent_though_no_courier_is_left() {
    let world = world();
    begin_courier(&world, "courier:LaunchSent=kill");
    let script = counted(&world, "exit 7");
    let args = ["run", "--id", "job", "--session", "s", "--shell", &script];
    let mut launcher = world.command(args);
    let ran = Ran::of(launcher.env("OUTLIVE_HOOKS", "courier:Locked=kill"));
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(!ran.stderr.contains("nothing was sent"), "{ran:?}");
    assert!(ran.stderr.contains("whether job was started"), "{ran:?}");
    begin_courier(&world, "");
    let job = world.wait("job");
    // It may have been killed before the far end had read all of it.
    let expected = match starts(&world) {
        0 => "not_started",
        _ => "exited",
    };
    assert_eq!(job["outcome"]["kind"], expected, "{job}");
    assert_eq!(told(&world), ["job ended"]);
}

#[test]
fn a_waiter_for_news_is_woken_by_the_replica() {
    let world = world();
    let go = world.path_there("go");
    let script = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
    world.ok(&["run", "--id", "job", "--session", "s", "--shell", &script]);
    let waiter = begin(world.command(["inbox", "--session", "s", "--wait", "--json"]));
    std::fs::write(&go, "").unwrap();
    let ran = Ran::end_of(waiter);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("\"ended\""), "{ran:?}");
}
