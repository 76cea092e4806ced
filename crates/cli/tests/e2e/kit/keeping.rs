//! An agent that lives may nevertheless not have what it was handed. Then it is told again, under the same id.

use super::agent::{Agent, SETTLED, is_told, later_call, said};
use super::ended_job;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;

/// A transcript that the agent has written before it was handed anything.
fn transcript(world: &World) -> PathBuf {
    let path = world.path("transcript.jsonl");
    fs::write(&path, "{}\n").unwrap();
    sleep(SETTLED);
    path
}

fn with_transcript(mut input: Value, path: &Path) -> Value {
    input["transcript_path"] = json!(path);
    input
}

/// The model asked for two calls at once, and a person allowed the second one late. The results of both are sent
/// and saved together.
#[test]
fn a_call_of_the_same_answer_is_no_sign_until_the_transcript_is_written() {
    for (agent, next, input) in [
        ("gemini", "pre-tool-use", said()),
        (
            "qwen",
            "post-tool-use",
            json!({"session_id": "s", "duration_ms": 1}),
        ),
    ] {
        let world = World::new();
        let id = ended_job(&world, "s", "true");
        let transcript = transcript(&world);
        let mut process = Agent::start(&world).of(agent);
        let first = with_transcript(said(), &transcript);
        assert!(process.call("post-tool-use", &first).contains(&id));
        let next_input = with_transcript(input, &transcript);
        sleep(SETTLED);
        assert_eq!(process.call(next, &next_input), "");
        assert!(!is_told(&world, &id), "{agent}: no request contained it");
        fs::write(&transcript, "{}\n{}\n").unwrap();
        assert_eq!(process.call(next, &next_input), "");
        assert!(is_told(&world, &id), "{agent}: the results are saved");
    }
}

/// Another hook refused the prompt, or the person took it back.
#[test]
fn what_came_with_a_prompt_that_was_taken_back_is_told_with_the_next_one() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let transcript = transcript(&world);
    let mut agent = Agent::start(&world);
    let prompt = with_transcript(said(), &transcript);
    let first = agent.call("user-prompt-submit", &prompt);
    assert!(first.contains(&id), "{first}");
    let again = agent.call("user-prompt-submit", &prompt);
    assert!(again.contains(&id), "{again}");
    // This time the prompt is kept.
    fs::write(&transcript, again).unwrap();
    assert_eq!(agent.call("user-prompt-submit", &prompt), "");
    agent.call("stop", &later_call());
    assert!(is_told(&world, &id));
}

#[test]
fn another_agent_that_continues_a_conversation_is_told_what_the_one_that_left_it_had() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let mut first = Agent::start(&world);
    assert!(first.call("user-prompt-submit", &said()).contains(&id));
    let mut second = Agent::start_in(&world, "second");
    let resumed = json!({"session_id": "s", "source": "resume"});
    assert_eq!(
        second.call("session-start", &resumed),
        "",
        "the first still has it"
    );
    let other = json!({"session_id": "other", "source": "clear"});
    assert_eq!(first.call("session-start", &other), "");
    assert!(second.call("user-prompt-submit", &said()).contains(&id));
    second.call("stop", &later_call());
    assert!(is_told(&world, &id));
}

/// `wait --for match` waits for the next match, not for the one that a hook has just told.
#[test]
fn a_wait_for_a_match_does_not_repeat_what_a_hook_has_told() {
    let world = World::new();
    let gate = outlive_testkit::gate::Gate::new(&world);
    let script = format!("echo READY; {}", gate.then("echo over"));
    let id = world.ok(&[
        "run",
        "--session",
        "s",
        "--watch",
        "READY",
        "--shell",
        &script,
    ]);
    world.ok(&["wait", &id, "--for", "match", "--timeout", "30"]);
    let mut agent = Agent::start(&world);
    let told = agent.call("post-tool-use", &said());
    assert!(told.contains("READY"), "{told}");
    let mut wait = world.command(["wait", &id, "--for", "match", "--timeout", "300ms"]);
    let wait = wait.env("OUTLIVE_SESSION", "s").output().unwrap();
    assert_eq!(wait.status.code(), Some(124), "{wait:?}");
    gate.open();
    world.until_over(&id);
}
