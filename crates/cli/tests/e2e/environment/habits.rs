//! Commands that detach themselves run as given, with a note that says what becomes of them.

use crate::mcp::client::{Client, text_of};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

#[track_caller]
fn assert_noted(world: &World, args: &[&str], parts: &[&str]) -> String {
    let ran = world.outlive(&[&["run"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    let notes: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(notes.len(), parts.len(), "{args:?}: {ran:?}");
    for (note, part) in notes.iter().zip(parts) {
        assert!(note.starts_with("outlive: note: "), "{note}");
        assert!(note.contains(part), "{args:?}: {note}");
    }
    ran.stdout.trim_end().to_owned()
}

#[test]
fn nohup_is_not_needed_and_changes_nothing() {
    let world = World::new();
    let nohup = "`nohup` is not needed: no hangup reaches a job";
    let id = assert_noted(
        &world,
        &["--", "nohup", "sh", "-c", "echo out; exit 6"],
        &[nohup],
    );
    assert_eq!(world.wait(&id)["exit_code"], 6);
    assert!(String::from_utf8_lossy(&world.output(&id)).contains("out\n"));
    let script = "nohup sh -c 'echo out; exit 6' &";
    let id = assert_noted(&world, &["--shell", script], &["trailing &", nohup]);
    assert_eq!(world.wait(&id)["exit_code"], 6);
    // Without it, the output is not where people look for it.
    let directory = world.path("on-terminal");
    fs::create_dir(&directory).unwrap();
    let cwd = directory.to_str().unwrap();
    let args = ["--pty", "--cwd", cwd, "--shell", "nohup echo elsewhere"];
    let id = assert_noted(&world, &args, &["nohup.out"]);
    world.wait(&id);
    let written = fs::read_to_string(directory.join("nohup.out")).unwrap();
    assert_eq!(written, "elsewhere\n");
}

#[test]
fn what_setsid_and_disown_let_go_still_belongs_to_the_job() {
    let world = World::new();
    let noted = "`setsid` is not needed";
    let id = assert_noted(&world, &["--", "setsid", "sleep", "600"], &[noted]);
    world.ok(&["wait", &id]);
    let ran = world.outlive(&["run", "--shell", "sleep 600 & disown"]);
    let other = ran.stdout.trim_end().to_owned();
    assert!(ran.stderr.contains("`disown` is not needed"), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("`outlive stop {other}`")),
        "{ran:?}"
    );
    world.ok(&["wait", &other]);
    for id in [&id, &other] {
        until("it lingers", || world.show(id)["lingering"] == 1);
        world.ok(&["stop", id]);
        world.until_over(id);
    }
}

#[test]
fn what_an_inner_ampersand_starts_goes_on_and_is_stopped_with_the_job() {
    let world = World::new();
    let script = "sleep 600 & echo started";
    let id = assert_noted(&world, &["--shell", script], &["the `&` in the middle"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.show(&id)["lingering"], 1);
    world.ok(&["stop", &id]);
    world.until_over(&id);
    for quiet in [
        "sleep 0 & wait",
        "echo 'a & b'",
        "sleep 0 & p=$!; kill $p",
        "echo nohup",
    ] {
        let id = assert_noted(&world, &["--shell", quiet], &[]);
        world.wait(&id);
    }
}

#[test]
fn a_model_gets_the_note_in_words_of_its_tools() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "setsid sleep 600; sleep 600 & true", "id": "j"});
    let reply = client.tool("run", run);
    for part in [
        "`setsid` is not needed",
        "`&` in the middle",
        "the tool `stop` ends it",
    ] {
        assert!(text_of(&reply).contains(part), "{part}: {reply}");
    }
    assert!(!text_of(&reply).contains("outlive stop"), "{reply}");
    client.ok("stop", json!({"ids": ["j"]}));
    world.until_over("j");
}
