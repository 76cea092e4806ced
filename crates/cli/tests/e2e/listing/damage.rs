//! `list` with damaged jobs and a damaged history.

use super::{assert_lists, day, ended};
use outlive_testkit::checks::exited;
use outlive_testkit::ran::ids_of;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

#[test]
fn a_damaged_job_is_reported_and_the_others_are_listed() {
    let world = World::new();
    let good = [ended(&world, &[]), sleeper(&world, &[])];
    let bad = [ended(&world, &[]), sleeper(&world, &[])];
    for id in &bad {
        fs::write(world.job_dir(id).join("spec.json"), "garbage").unwrap();
    }
    let ran = world.outlive(&["list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for id in &bad {
        let about = ran
            .stderr
            .lines()
            .filter(|line| line.contains(id.as_str()))
            .count();
        assert_eq!(about, 1, "{ran:?}");
    }
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ids_of(&answer), [good[1].as_str(), &good[0]]);
    assert_eq!(world.outlive(&["list", "--quiet", "--json"]).stderr, "");
}

#[test]
fn every_sort_of_damage_leaves_the_others_listed() {
    let world = World::new();
    let good = ended(&world, &[]);
    let damage: [fn(&Path); 6] = [
        |dir| fs::write(dir.join("spec.json"), "").unwrap(),
        |dir| fs::write(dir.join("spec.json"), "{}").unwrap(),
        |dir| fs::remove_file(dir.join("spec.json")).unwrap(),
        |dir| fs::remove_file(dir.join("journal")).unwrap(),
        |dir| fs::write(dir.join("journal"), b"\xff\xfe\0\n{}\n[]\n").unwrap(),
        |dir| {
            fs::remove_file(dir.join("journal")).unwrap();
            fs::create_dir(dir.join("journal")).unwrap();
        },
    ];
    for harm in damage {
        harm(&world.job_dir(&ended(&world, &[])));
    }
    fs::create_dir(world.job_dir("empty")).unwrap();
    fs::write(world.home().join("jobs/stray"), "").unwrap();
    std::os::unix::fs::symlink("../jobs/nothing", world.home().join("live/nothing")).unwrap();
    let ran = world.outlive(&["list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let listed = answer["jobs"].as_array().unwrap();
    let found = listed
        .iter()
        .find(|job| job["id"] == good.as_str())
        .unwrap();
    assert_eq!(found["outcome"], exited(0));
    // If a damaged journal does not have the outcome, the job is never reported as a success.
    for job in listed.iter().filter(|job| job["id"] != good.as_str()) {
        assert_eq!(job["outcome"]["kind"], "lost", "{job}");
        assert_eq!(job["exit_code"], Value::Null);
    }
}

#[test]
fn damaged_lines_among_the_noted_ends_are_passed_over() {
    let world = World::new();
    let id = ended(&world, &[]);
    let mut history = File::options().append(true).open(day(&world)).unwrap();
    history
        .write_all(b"nonsense\n12 ../../etc\n99999999999999999999999 x\n\n17 gone")
        .unwrap();
    fs::write(world.home().join("ended/not-a-day"), "1 x\n").unwrap();
    assert_lists(&world, &[], &[&id]);
}
