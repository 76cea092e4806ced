//! SIGKILL of the launcher or of keepers loses nothing of an adopted job.

use super::{Started, adopted, outcome_is_told};
use outlive_testkit::checks::{assert_nothing_is_left, every, exited};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;

/// The steps of the launcher, and whether there is a job if it is killed there.
const LAUNCHER: [(&str, bool); 5] = [
    ("DirectoryMade", false),
    ("Linked", false),
    ("Named", true),
    ("Relinked", true),
    ("KeeperSpawned", true),
];

#[test]
fn a_killed_launcher_leaves_a_whole_job_or_none() {
    every(
        &LAUNCHER,
        |cell| cell.0.to_owned(),
        |(hook, is_there)| {
            let world = World::new();
            let mut started = Started::with(&world, &format!("{WAITS} exit 6"));
            let pid = started.pid().to_string();
            let args = [
                "adopt",
                &pid,
                "--id",
                "job",
                "--session",
                "s",
                "--name",
                "n",
            ];
            let mut command = world.command(args);
            command.env("OUTLIVE_HOOKS", format!("launcher:{hook}=kill"));
            let ran = Ran::of(&mut command);
            assert_eq!(ran.code, 128 + 9, "{ran:?}");
            assert_eq!(world.listed(&[]).len(), usize::from(*is_there));
            if !is_there {
                // Nothing is in the way of the next try.
                adopted(
                    &world,
                    started.pid(),
                    &["--id", "job", "--session", "s", "--name", "n"],
                );
            }
            let job = world.show("job");
            assert_eq!(job["state"], "running", "{job}");
            let_go(&world);
            started.reap();
            let told = outcome_is_told(&job);
            assert_eq!(world.wait("job")["exit_code"] == 6, told);
            let inbox = world.json(&["inbox", "--session", "s", "--json"]);
            assert_eq!(inbox["events"].as_array().unwrap().len(), 1, "{inbox}");
            assert_nothing_is_left(&world, "job");
        },
    );
}

/// The steps of a keeper that takes over a process, and of one that sees its end.
const KEEPER: [&str; 12] = [
    "Begun",
    "Started",
    "Ready",
    "LeaderEnded",
    "Drained",
    "OutputSynced",
    "EndedRecorded",
    "Noted",
    "Told",
    "Reaped",
    "Closed",
    "Retired",
];

#[test]
fn a_keeper_killed_at_any_step_is_replaced_and_the_end_is_told_once() {
    every(
        &KEEPER,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let mut started = Started::with(&world, &format!("{WAITS} exit 6"));
            let pid = started.pid().to_string();
            let mut command = world.command(["adopt", &pid, "--id", "job", "--session", "s"]);
            let ran = Ran::of(command.env("OUTLIVE_HOOKS", format!("keeper:{hook}=kill")));
            assert_eq!(ran.code, 0, "{ran:?}");
            let told = outcome_is_told(&world.show("job"));
            let_go(&world);
            started.reap();
            let ended = world.wait("job");
            // A keeper that was forked before the end holds the process's descriptor, so it sees the end too.
            if told {
                assert_eq!(ended["outcome"], exited(6), "{ended}");
            }
            assert_eq!(world.events("job", "ended").len(), 1);
            let inbox = world.json(&["inbox", "--session", "s", "--json"]);
            assert_eq!(inbox["events"].as_array().unwrap().len(), 1, "{inbox}");
            world.until_over("job");
            assert_nothing_is_left(&world, "job");
        },
    );
}

#[test]
fn both_keepers_killed_while_it_runs() {
    let world = World::new();
    let mut started = Started::with(&world, &format!("{WAITS} exit 6"));
    let id = adopted(&world, started.pid(), &[]);
    world.kill_both(&id);
    let job = world.show(&id);
    assert_eq!(job["state"], "running", "{job}");
    let told = outcome_is_told(&job);
    let_go(&world);
    started.reap();
    let ended = world.wait(&id);
    if told {
        assert_eq!(ended["outcome"], exited(6), "{ended}");
    }
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn both_keepers_killed_and_then_it_is_stopped() {
    let world = World::new();
    let started = Started::with(&world, "sleep 600 & wait");
    let id = adopted(&world, started.pid(), &[]);
    world.kill_both(&id);
    let job = world.job(&["stop", &id, "--json"]);
    assert_eq!(job["ended_by"], "stop", "{job}");
    assert_nothing_is_left(&world, &id);
}

/// Without a keeper, a job that nobody meets may still be running: it is not removed.
#[test]
fn an_adopted_job_without_keepers_is_not_pruned() {
    let world = World::new();
    let started = Started::with(&world, "exec sleep 600");
    let id = adopted(&world, started.pid(), &[]);
    world.kill_both(&id);
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&[]), [id.as_str()]);
    world.ok(&["stop", &id]);
    drop(started);
}
