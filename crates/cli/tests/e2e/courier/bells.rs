//! Doorbells of this machine ring here for jobs that end there.

use super::{begin_courier, directory, world};
use outlive_testkit::checks::every;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// What the doorbell got: one event a line.
fn rings(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.path("rang")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn configure(world: &World) {
    let file = world.path("rang");
    let config = world.path("config/outlive");
    fs::create_dir_all(&config).unwrap();
    let text = format!(
        "[[doorbell]]\nname = \"mine\"\nkind = \"command\"\ncommand = \"(cat; echo) >> '{}'\"\n",
        file.display()
    );
    fs::write(config.join("config.toml"), text).unwrap();
}

#[test]
fn a_configured_doorbell_rings_here_though_the_courier_is_killed() {
    // How often it rings at least and at most.
    let cases = [
        ("", 1, 1),
        ("Ringing", 1, 1),
        ("Rang", 2, 2),
        ("Appended", 1, 1),
        ("Synced", 1, 1),
    ];
    every(
        &cases,
        |(step, ..)| (*step).to_owned(),
        |(step, least, most)| {
            let world = world();
            configure(&world);
            if !step.is_empty() {
                begin_courier(&world, &format!("courier:{step}=kill"));
            }
            let there = world.path_there("on-end");
            let on_end = format!("cat > '{}'", there.display());
            world.ok(&[
                "run", "--id", "job", "--on-end", &on_end, "--shell", "exit 7",
            ]);
            world.wait("job");
            until("it has rung and no more is to be done", || {
                begin_courier(&world, "");
                let left = directory(&world).join("bells");
                rings(&world).len() >= *least && left.read_dir().unwrap().next().is_none()
            });
            let rang = rings(&world);
            assert!(rang.len() <= *most, "{rang:?}");
            for event in rang {
                assert_eq!(
                    (&event["job"], &event["kind"]),
                    (&"job".into(), &"ended".into())
                );
                assert_eq!(event["data"]["outcome"]["code"], 7, "{event}");
            }
            assert!(there.is_file(), "the one of the start rings there");
            let placed = fs::read_to_string(world.home().join("jobs/job/placed")).unwrap();
            assert_eq!(placed.matches("\"rung\"").count(), 1, "{placed}");
        },
    );
}
