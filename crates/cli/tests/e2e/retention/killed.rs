//! A start that is killed while it removes old jobs loses nothing, and the next one finishes.

use super::{exists, make_due, old, start};
use outlive_testkit::processes::KILL;
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use std::os::unix::process::ExitStatusExt;

const STEPS: [&str; 6] = [
    "RetentionBegun",
    "Selected",
    "Alone",
    "Unlinked",
    "Renamed",
    "RetentionDone",
];

#[test]
fn a_kill_at_any_step_loses_nothing() {
    for step in STEPS {
        let world = World::new();
        let ids = [40, 50].map(|days| old(&world, days));
        let kept = old(&world, 20);
        make_due(&world);
        let mut command = world.command(["run", "--id", "mine", "--shell", "sleep 0.2; exit 7"]);
        let hooks = format!("pruner:{step}=kill");
        let output = command.env("OUTLIVE_HOOKS", hooks).output().unwrap();
        assert_eq!(output.status.signal(), Some(KILL), "{step}");
        assert_eq!(world.wait("mine")["exit_code"], 7, "{step}");

        start(&world);
        for id in &ids {
            assert!(!exists(&world, id), "{step}: the next start did not finish");
        }
        assert!(exists(&world, &kept), "{step}");
        let left = names_in(&world.home().join("jobs"));
        let strays = left.iter().filter(|name| name.starts_with('.'));
        assert_eq!(strays.count(), 0, "{step}: {left:?}");
        assert_eq!(world.show("mine")["exit_code"], 7, "{step}");
    }
}

#[test]
fn a_job_whose_removal_was_cut_short_is_gone_or_whole() {
    for step in STEPS {
        let world = World::new();
        let id = old(&world, 40);
        make_due(&world);
        let mut command = world.command(["run", "--id", "mine", "--", "true"]);
        let hooks = format!("pruner:{step}=kill");
        command.env("OUTLIVE_HOOKS", hooks).output().unwrap();
        let ran: Ran = world.outlive(&["show", &id, "--json"]);
        match exists(&world, &id) {
            true => assert!(
                ran.code == 0 && ran.stdout.contains("\"exit_code\":0"),
                "{step}: {ran:?}"
            ),
            false => assert_eq!(ran.code, 3, "{step}: {ran:?}"),
        }
    }
}
