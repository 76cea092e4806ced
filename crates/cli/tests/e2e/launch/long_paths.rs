//! Homes whose path is much longer than the path of a socket may be.

use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// A very long path below the world's own jobs, so that its processes are found.
fn long_home(world: &World) -> String {
    let mut home = world.home().join("jobs");
    while home.as_os_str().len() < 400 {
        home.push("a-directory-with-a-rather-long-name");
    }
    home.into_os_string().into_string().unwrap()
}

#[test]
fn a_home_too_deep_for_a_socket_works_in_full() {
    let world = World::new();
    let home = long_home(&world);
    let outlive = |args: &[&str]| Ran::of(world.command(args).env("OUTLIVE_HOME", &home));
    let ran = outlive(&["run", "--wait", "--shell", "echo hello; exit 3"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "hello\n"), "{ran:?}");

    assert_eq!(outlive(&["run", "--id", "j", "--", "sleep", "60"]).code, 0);
    assert_eq!(outlive(&["wait", "j", "--timeout", "10ms"]).code, 124);
    assert_eq!(outlive(&["signal", "j", "CONT"]).code, 0);
    assert!(outlive(&["list"]).stdout.contains("sleep 60"));
    assert_eq!(world.processes().len(), 3);
    let journal = format!("{home}/jobs/j/journal");
    for pid in keepers_in(&journal) {
        kill_for_good(pid);
    }
    let ran = outlive(&["stop", "j"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(outlive(&["wait", "j"]).code, 143);
    world.until_nothing_runs();
}

fn keepers_in(journal: &str) -> Vec<i32> {
    let text = fs::read_to_string(journal).unwrap();
    let kept = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .rfind(|record| record["event"].get("kept").is_some())
        .unwrap();
    ["standby", "keeper"]
        .iter()
        .map(|role| kept["event"]["kept"][role]["pid"].as_i64().unwrap() as i32)
        .collect()
}
