//! The inboxes of all sessions at once, and acking everything about a job.

use super::world;
use outlive_testkit::world::World;
use serde_json::Value;

/// Ended jobs of three sessions, one of which has an unusual name.
fn ended(world: &World) -> Vec<String> {
    let sessions = ["one", "two", "agent:main/ä %41"];
    let ids = sessions.map(|session| {
        let id = world.ok(&[
            "run",
            "--session",
            session,
            "--name",
            "n",
            "--shell",
            "exit 2",
        ]);
        world.wait(&id);
        id
    });
    ids.to_vec()
}

fn jobs(answer: &Value) -> Vec<&str> {
    let events = answer["events"].as_array().unwrap().iter();
    events.map(|event| event["job"].as_str().unwrap()).collect()
}

fn all(world: &World, options: &[&str]) -> Value {
    world.json(&[&["inbox", "--all-sessions", "--json"], options].concat())
}

#[test]
fn all_inboxes_are_looked_at_claimed_and_acked_together() {
    let world = world();
    let ids = ended(&world);
    assert_eq!(jobs(&all(&world, &["--peek"])), ids);
    assert_eq!(jobs(&all(&world, &["--limit", "2"])).len(), 2);
    let rest = all(&world, &[]);
    assert_eq!(jobs(&rest).len(), 1, "the others are claimed: {rest}");
    let event = rest["events"][0]["event"].as_str().unwrap();
    world.ok(&["inbox", "--all-sessions", "--ack", event]);
    let told: Vec<Value> = ids
        .iter()
        .map(|id| world.show(id)["told"]["state"].clone())
        .collect();
    let count = |state: &str| told.iter().filter(|told| *told == state).count();
    assert_eq!((count("told"), count("delivered")), (1, 2), "{told:?}");
    assert_eq!(jobs(&all(&world, &["--ack-all"])).len(), 0);
    for id in &ids {
        assert_eq!(world.show(id)["told"]["state"], "told");
    }
}

#[test]
fn every_session_has_what_it_had() {
    let world = world();
    let ids = ended(&world);
    let text = world.ok(&["inbox", "--all-sessions", "--ack-all"]);
    assert!(text.contains("one: [") && text.contains("two: ["), "{text}");
    for session in ["one", "two"] {
        let left = world.json(&["inbox", "--session", session, "--json"]);
        assert_eq!(jobs(&left), [""; 0], "{ids:?}");
    }
}

#[test]
fn everything_about_a_job_is_acked_by_its_id_or_its_name() {
    let world = world();
    let ids = ended(&world);
    world.ok(&["inbox", "--session", "one", "--ack", &ids[0]]);
    world.ok(&["inbox", "--all-sessions", "--ack", &ids[1]]);
    let by_name = world.as_session("agent:main/ä %41", &["inbox", "--ack", "n"]);
    assert_eq!(by_name.code, 0, "{by_name:?}");
    for id in &ids {
        let told = world.show(id)["told"].clone();
        assert_eq!(
            (&told["state"], &told["by"]),
            (&"told".into(), &"inbox".into())
        );
    }
    let wrong = world.outlive(&["inbox", "--session", "one", "--ack", &ids[1]]);
    assert_eq!(wrong.code, 3, "the job of another session: {wrong:?}");
    let bad = world.outlive(&["inbox", "--session", "one", "--ack", "no:event"]);
    assert_eq!(bad.code, 2, "{bad:?}");
}

#[test]
fn nothing_to_tell_is_said() {
    let world = world();
    let ran = world.outlive(&["inbox", "--all-sessions"]);
    assert_eq!((ran.code, ran.text().as_str()), (0, ""));
    assert!(ran.stderr.contains("nothing new"), "{ran:?}");
    for wrong in [
        ["--follow", "--peek"],
        ["--wait", "--peek"],
        ["--session", "s"],
    ] {
        let ran = world.outlive(&[&["inbox", "--all-sessions"], &wrong[..]].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}
