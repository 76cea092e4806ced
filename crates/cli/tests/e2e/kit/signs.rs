//! What a hook printed counts as told when the agent shows that its model has read it.
//!
//! The agent is a real process that calls hooks and may be killed.

use super::agent::{Agent, SETTLED, is_told, later_call, said};
use super::ended_job;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::process::Command;
use std::thread::sleep;

/// The id of the only event in a text.
fn event_in<'a>(text: &'a str, id: &str) -> &'a str {
    let start = text.find(&format!("[{id}:")).expect("the event is there");
    text[start..].split(']').next().unwrap()
}

#[test]
fn an_event_is_told_once_its_agent_goes_on() {
    for (first, then, later) in [
        ("post-tool-use", "post-tool-use", true),
        ("post-tool-use", "pre-tool-use", true),
        ("post-tool-use", "stop", true),
        ("user-prompt-submit", "post-tool-use", true),
        ("session-start", "stop", true),
        ("stop", "stop", true),
        ("wait", "stop", true),
        // The model is asked only after these.
        ("session-start", "user-prompt-submit", false),
        ("post-tool-use", "user-prompt-submit", false),
    ] {
        let world = World::new();
        let id = ended_job(&world, "s", "true");
        let mut agent = Agent::start(&world);
        let text = agent.call(first, &said());
        assert!(text.contains(&id), "{first}: {text}");
        assert!(!is_told(&world, &id), "{first}");
        assert_eq!(agent.call(then, &later_call()), "", "{first} {then}");
        assert_eq!(is_told(&world, &id), later, "{first} {then}");
    }
}

/// Two tool calls of one answer end at the same time. The second does not show that the model was asked.
#[test]
fn a_tool_call_that_began_before_is_no_sign() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let mut agent = Agent::start(&world);
    assert!(agent.call("post-tool-use", &said()).contains(&id));
    sleep(SETTLED);
    let long = json!({"session_id": "s", "duration_ms": 60_000});
    for input in [long, said()] {
        assert_eq!(agent.call("post-tool-use", &input), "");
        assert!(!is_told(&world, &id), "{input}");
    }
}

#[test]
fn a_subagents_call_is_no_sign_of_its_agent() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let mut agent = Agent::start(&world);
    assert!(agent.call("post-tool-use", &said()).contains(&id));
    let mut helper = later_call();
    helper["agent_id"] = json!("a1");
    assert_eq!(agent.call("post-tool-use", &helper), "");
    assert!(!is_told(&world, &id));
}

#[test]
fn the_end_of_a_turn_counts_even_if_the_hook_may_not_answer() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let mut agent = Agent::start(&world);
    assert!(agent.call("stop", &said()).contains(&id));
    sleep(SETTLED);
    let active = json!({"session_id": "s", "stop_hook_active": true});
    assert_eq!(agent.call("stop", &active), "");
    assert!(is_told(&world, &id));
}

#[test]
fn the_next_agent_is_told_what_a_killed_one_may_not_have_read() {
    for event in [
        "session-start",
        "user-prompt-submit",
        "post-tool-use",
        "stop",
        "wait",
    ] {
        let world = World::new();
        let id = ended_job(&world, "s", "true");
        let mut agent = Agent::start(&world);
        let first = agent.call(event, &said());
        agent.kill();
        let mut next = Agent::start(&world);
        let again = next.call("session-start", &said());
        assert_eq!(event_in(&again, &id), event_in(&first, &id), "{event}");
        next.call("post-tool-use", &later_call());
        assert!(is_told(&world, &id));
        next.kill();
        assert_eq!(Agent::start(&world).call("session-start", &said()), "");
    }
}

/// A person may leave a conversation and resume it in the same program.
#[test]
fn a_conversation_that_is_resumed_is_told_again_what_it_may_not_have_read() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let mut agent = Agent::start(&world);
    assert!(agent.call("stop", &said()).contains(&id));
    let other = json!({"session_id": "other", "source": "clear"});
    assert_eq!(agent.call("session-start", &other), "");
    let compacted = json!({"session_id": "s", "source": "compact"});
    assert_eq!(agent.call("session-start", &compacted), "");
    let resumed = json!({"session_id": "s", "source": "resume"});
    assert!(agent.call("session-start", &resumed).contains(&id));
    agent.call("stop", &later_call());
    assert!(is_told(&world, &id));
    assert_eq!(agent.call("session-start", &resumed), "");
}

/// The hook that waits ends when its agent goes to another conversation, or begins a turn.
#[test]
fn the_waiting_hook_ends_when_its_agent_is_no_longer_idle() {
    for (event, session) in [("session-start", "other"), ("user-prompt-submit", "s")] {
        let world = World::new();
        let gate = outlive_testkit::gate::Gate::new(&world);
        let id = world.ok(&["run", "--session", "s", "--shell", &gate.then("exit 5")]);
        // Agents call hooks at the same time; this agent has two threads that call them.
        let script = format!(
            "sh -c '{outlive} hook wait --agent claude-code' <input >waited 2>&1 & \
             until ls -A {home}/inbox/s | grep -q bell; do sleep 0.01; done; \
             sh -c '{outlive} hook {event} --agent claude-code' <next >output 2>&1; wait; exec sleep 1000",
            outlive = outlive_testkit::programs::outlive(),
            home = world.home().display(),
        );
        let directory = world.path("agent");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("input"), said().to_string()).unwrap();
        let next = json!({"session_id": session}).to_string();
        fs::write(directory.join("next"), next).unwrap();
        fs::write(directory.join("agent.sh"), script).unwrap();
        let mut agent = Command::new("bash")
            .arg("agent.sh")
            .current_dir(&directory)
            .env("OUTLIVE_HOME", world.home())
            .env_remove("OUTLIVE_SESSION")
            .spawn()
            .unwrap();
        until("no hook waits", || {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", agent.id()));
            let entries = fs::read_dir(world.home().join("inbox/s")).unwrap();
            let bells = entries
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().starts_with(".bell-"));
            directory.join("output").exists()
                && !bells
                && children.is_ok_and(|it| it.split(' ').count() <= 2)
        });
        gate.open();
        world.until_over(&id);
        assert_eq!(
            fs::read_to_string(directory.join("waited")).unwrap(),
            "",
            "{event}"
        );
        agent.kill().unwrap();
        agent.wait().unwrap();
        let mut next = Agent::start(&world);
        assert!(next.call("session-start", &said()).contains(&id), "{event}");
    }
}
