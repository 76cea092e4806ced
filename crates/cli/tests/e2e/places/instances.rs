//! Who is there: several homes that use one host, and another home that answers to the same name.

use super::{by_command, configure, counted, over_ssh, starts, told};
use outlive_testkit::couriers::{couriers_of, kill_all};
use outlive_testkit::places::CmdSh;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Another home here, which uses the same place.
struct OtherHome<'a> {
    world: &'a World,
    home: PathBuf,
}

impl<'a> OtherHome<'a> {
    fn of(world: &'a World) -> OtherHome<'a> {
        let home = world.path("other-home");
        OtherHome { world, home }
    }

    fn outlive(&self, args: &[&str]) -> Ran {
        Ran::of(self.world.command(args).env("OUTLIVE_HOME", &self.home))
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.outlive(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        serde_json::from_slice(&ran.bytes).unwrap()
    }
}

impl Drop for OtherHome<'_> {
    fn drop(&mut self) {
        kill_all(&couriers_of(&self.home));
    }
}

fn two_homes(world: &World) {
    let other = OtherHome::of(world);
    let mine = world.ok(&[
        "run",
        "--session",
        "s",
        "--name",
        "web",
        "--",
        "sleep",
        "60",
    ]);
    let args = [
        "run",
        "--session",
        "s",
        "--name",
        "web",
        "--shell",
        "echo other; exit 4",
    ];
    let theirs = other.outlive(&args);
    assert_eq!(theirs.code, 0, "{theirs:?}");
    let theirs = theirs.text();
    assert_eq!(other.outlive(&["wait", &theirs]).code, 4);
    assert_eq!(world.listed(&["--state", "all"]), [mine.as_str()]);
    let listed = other.json(&["list", "--state", "all", "--json"]);
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(told(world, "s"), [""; 0]);
    let inbox = other.json(&["inbox", "--session", "s", "--json"]);
    assert_eq!(inbox["events"][0]["job"], *theirs, "{inbox}");
    // Neither prunes nor stops what is the other's.
    other.json(&["prune", "--all", "--force", "--json"]);
    assert_eq!(other.outlive(&["stop", &mine]).code, 3);
    assert_eq!(world.show(&mine)["state"], "running");
    world.ok(&["stop", &mine]);
    world.until_nothing_runs();
}

#[test]
fn two_homes_use_one_place_and_do_not_see_each_other() {
    two_homes(&by_command());
}

#[test]
fn two_homes_use_one_host_and_do_not_see_each_other() {
    needs!(Ssh);
    two_homes(&over_ssh().1);
}

#[test]
fn an_id_that_another_home_has_taken_there_starts_nothing() {
    let world = by_command();
    let other = OtherHome::of(&world);
    let script = counted(&world, "job", "exec sleep 60");
    let args = ["run", "--id", "job", "--shell", &script];
    world.ok(&args);
    until("it has started", || starts(&world, "job") == 1);
    let ran = other.outlive(&args);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("job"), "{ran:?}");
    assert_eq!(starts(&world, "job"), 1);
    // What was not started is not in the way of what is, and its record does not say that it ran.
    let listed = other.json(&["list", "--state", "all", "--json"]);
    for job in listed["jobs"].as_array().unwrap() {
        assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    }
    assert_eq!(world.show("job")["state"], "running");
}

/// A place whose command the test can change, so that something else answers to its name.
fn changeable() -> (World, PathBuf) {
    let world = World::new();
    let command = world.path("connect");
    configure(
        &world,
        &format!("at = \"cmd:sh {}\"\nreach = \"2s\"", command.display()),
    );
    lead_to(&world, &command, "first");
    (world, command)
}

/// From now on, this home there is what answers.
fn lead_to(world: &World, command: &PathBuf, home: &str) {
    let home = world.path(home);
    fs::create_dir_all(&home).unwrap();
    let address = CmdSh::default().address(&home);
    let script = format!("exec {}\n", address.strip_prefix("cmd:").unwrap());
    fs::write(command, script).unwrap();
    world.kill_couriers();
}

#[test]
fn another_machine_that_answers_to_a_name_is_no_verdict_about_its_jobs() {
    let (world, command) = changeable();
    let id = world.ok(&[
        "run",
        "--place",
        "far",
        "--session",
        "s",
        "--",
        "sleep",
        "60",
    ]);
    let leader = world.leader(&id);
    lead_to(&world, &command, "second");
    let job = world.show(&id);
    assert_eq!(job["state"], "unreachable", "{job}");
    assert_eq!(job["outcome"], Value::Null, "{job}");
    let reason = job["unreachable"]["reason"].as_str().unwrap();
    assert!(reason.contains("another"), "{job}");
    let start = world.outlive(&["run", "--place", "far", "--", "true"]);
    assert_eq!(start.code, 125, "{start:?}");
    assert!(start.stderr.contains("another"), "{start:?}");
    assert_eq!(world.outlive(&["stop", &id]).code, 125);
    assert_eq!(told(&world, "s"), [""; 0]);
    assert!(outlive_testkit::processes::is_alive(leader));
    lead_to(&world, &command, "first");
    assert_eq!(world.show(&id)["state"], "running");
    world.ok(&["stop", &id]);
    assert_eq!(told(&world, "s"), [format!("{id} ended")]);
    until("it is gone", || {
        !outlive_testkit::processes::is_alive(leader)
    });
}

#[test]
fn this_home_is_not_a_place_of_its_own() {
    let world = World::new();
    let state = world.path("state");
    let at = format!("cmd:env OUTLIVE_HOME={0} sh", world.home().display());
    configure(
        &world,
        &format!(
            "at = \"{at}\"\nhome = \"{}\"\nreach = \"2s\"",
            world.home().display()
        ),
    );
    let local = world.ok(&["run", "--", "sleep", "60"]);
    let ran = world.outlive(&["run", "--place", "far", "--id", "job", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_eq!(world.show(&local)["state"], "running");
    world.ok(&["stop", &local]);
    assert!(!state.exists());
}
