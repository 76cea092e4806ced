//! If `run` would refuse every job, `doctor` says why.

use super::limited;
use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Checks that `run` fails for this reason, and that a check of `doctor` under the same conditions gives the same
/// reason.
fn assert_refused_and_foreseen(command: impl Fn(&[&str]) -> Command, check: &str, reason: &str) {
    let ran = Ran::of(&mut command(&["run", "--", "true"]));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains(reason), "{ran:?}");
    let told = Ran::of(&mut command(&["doctor", "--json"]));
    assert_eq!(told.code, 125, "{told:?}");
    let found = found(&told, check);
    assert_eq!(found["verdict"], "broken", "{found}");
    assert!(found["found"].as_str().unwrap().contains(reason), "{found}");
}

fn found(told: &Ran, check: &str) -> Value {
    let report: Value = serde_json::from_str(&told.stdout).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    let found = checks.find(|found| found["name"] == check);
    found.unwrap_or_else(|| panic!("no {check}")).clone()
}

#[test]
fn doctor_reports_too_few_open_files() {
    let world = World::new();
    let told = Ran::of(&mut limited(&world, "ulimit -n 10", &["doctor", "--json"]));
    assert_eq!(told.code, 125, "{told:?}");
    assert_eq!(found(&told, "limits")["verdict"], "broken");
    let behind_limit = |args: &[&str]| limited(&world, "ulimit -n 20", args);
    assert_refused_and_foreseen(behind_limit, "limits", "`ulimit -n` must be 32 at least");
    // 32 descriptors are enough for a plain job, but not for a job with input or errands.
    let told = Ran::of(&mut limited(&world, "ulimit -n 32", &["doctor", "--json"]));
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(found(&told, "limits")["verdict"], "less");
}

#[test]
fn doctor_reports_a_limit_on_file_sizes() {
    let world = World::new();
    // Root can raise the limit, unless it has lost that capability.
    let drop = ["--bounding-set=-sys_resource", "--inh-caps=-sys_resource"];
    let is_root = outlive_sys::process::own::user_id() == 0;
    let behind_limit = |args: &[&str]| {
        let command = limited(&world, "ulimit -f 1", args);
        match is_root {
            true => behind("setpriv", drop, &command),
            false => command,
        }
    };
    let reason = "`ulimit -f` must allow 1048576 bytes at least";
    assert_refused_and_foreseen(behind_limit, "limits", reason);
}

/// A keeper can raise these limits, so `doctor` accepts them.
#[test]
fn doctor_accepts_a_limit_that_keepers_can_raise() {
    let world = World::new();
    let limit = "ulimit -S -n 10; ulimit -S -f 1";
    let told = Ran::of(&mut limited(&world, limit, &["doctor", "--json"]));
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(found(&told, "limits")["verdict"], "good");
}

#[test]
fn doctor_reports_a_bad_configuration() {
    let world = World::new();
    let told = world.outlive(&["doctor", "--json"]);
    let check = found(&told, "configuration");
    assert_eq!(
        (&check["verdict"], &check["found"]),
        (&"good".into(), &"none".into())
    );
    let file = world.home().join("config.toml");
    fs::write(&file, "").unwrap();
    let told = world.outlive(&["doctor", "--json"]);
    assert_eq!(
        found(&told, "configuration")["found"],
        file.to_str().unwrap()
    );
    fs::write(&file, "frobnicate = 1\n").unwrap();
    let command = |args: &[&str]| world.command(args);
    assert_refused_and_foreseen(command, "configuration", "frobnicate");
}
