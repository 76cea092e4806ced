//! What the hooks of each agent print, and when.

use super::{call, ended_job, is_silent, json};
use outlive_testkit::world::World;
use serde_json::Value;

const SAID: &str = r#"{"session_id":"s","cwd":"/","hook_event_name":"X"}"#;

#[test]
fn hooks_give_context_at_the_start_at_a_prompt_and_after_a_tool() {
    for (agent, event, name) in [
        ("claude-code", "session-start", "SessionStart"),
        ("claude-code", "user-prompt-submit", "UserPromptSubmit"),
        ("claude-code", "post-tool-use", "PostToolUse"),
        ("codex", "session-start", "SessionStart"),
        ("codex", "user-prompt-submit", "UserPromptSubmit"),
        ("codex", "post-tool-use", "PostToolUse"),
        ("gemini", "session-start", "SessionStart"),
        ("gemini", "BeforeAgent", "BeforeAgent"),
        ("gemini", "AfterTool", "AfterTool"),
    ] {
        let world = World::new();
        let id = ended_job(&world, "s", "echo built; exit 3");
        let ran = call(&world, event, agent, SAID);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        let answer = json(&ran);
        let answer = &answer["hookSpecificOutput"];
        assert_eq!(answer["hookEventName"], name, "{agent}");
        let text = answer["additionalContext"].as_str().unwrap();
        assert!(text.contains(&id) && text.contains("exit code 3"), "{text}");
        assert!(text.contains("built"), "{text}");
        let again = call(&world, "user-prompt-submit", agent, SAID);
        assert!(is_silent(&again), "{agent} {event}: {again:?}");
    }
}

#[test]
fn a_stop_hook_continues_the_turn_only_for_news() {
    for (agent, key, decision) in [
        ("claude-code", "/hookSpecificOutput/additionalContext", None),
        ("codex", "/reason", Some("block")),
        ("gemini", "/reason", Some("deny")),
        ("cursor", "/followup_message", None),
    ] {
        let world = World::new();
        let said = match agent {
            "cursor" => r#"{"conversation_id":"s","status":"completed","loop_count":0}"#,
            _ => r#"{"session_id":"s","stop_hook_active":false}"#,
        };
        assert!(is_silent(&call(&world, "stop", agent, said)), "{agent}");
        let id = ended_job(&world, "s", "exit 3");
        let answer = json(&call(&world, "stop", agent, said));
        assert_eq!(answer["decision"].as_str(), decision);
        let text = answer.pointer(key).and_then(Value::as_str);
        assert!(text.unwrap().contains(&id), "{answer}");
        assert!(is_silent(&call(&world, "stop", agent, said)), "{agent}");
    }
}

#[test]
fn a_stop_hook_does_not_continue_a_turn_twice() {
    for (agent, said) in [
        (
            "claude-code",
            r#"{"session_id":"s","stop_hook_active":true}"#,
        ),
        ("gemini", r#"{"session_id":"s","stop_hook_active":true}"#),
        ("cursor", r#"{"conversation_id":"s","loop_count":1}"#),
        ("cursor", r#"{"conversation_id":"s","status":"aborted"}"#),
    ] {
        let world = World::new();
        ended_job(&world, "s", "true");
        assert!(is_silent(&call(&world, "stop", agent, said)), "{said}");
        // The event is still there for the next turn.
        let ran = call(&world, "session-start", agent, said);
        assert!(ran.stdout.contains("succeeded"), "{ran:?}");
    }
}

/// Shells of Gemini CLI and Cursor do not know the conversation that they belong to, so the hook tells the session.
#[test]
fn the_start_hook_tells_the_session_where_shells_do_not_know_it() {
    let world = World::new();
    let said = r#"{"conversation_id":"conv 1"}"#;
    let ran = call(&world, "sessionStart", "cursor", said);
    let text = json(&ran)["additional_context"].to_string();
    assert!(text.contains("OUTLIVE_SESSION='conv 1' outlive"), "{text}");
    assert!(is_silent(&call(
        &world,
        "session-start",
        "claude-code",
        said
    )));
    let ran = super::Ran::end_of(super::start(
        super::hook(&world, "session-start", "gemini").env("OUTLIVE_SESSION", "all"),
        said,
    ));
    assert!(is_silent(&ran), "its shells have that one: {ran:?}");
}

#[test]
fn outlive_session_counts_more_than_the_session_of_the_agent() {
    let world = World::new();
    let id = ended_job(&world, "all", "true");
    ended_job(&world, "s", "true");
    let ran = super::Ran::end_of(super::start(
        super::hook(&world, "stop", "codex").env("OUTLIVE_SESSION", "all"),
        SAID,
    ));
    assert!(ran.stdout.contains(&id), "{ran:?}");
}

/// A subagent's context is lost; the agent gets only its answer. So events are not told to a subagent.
#[test]
fn a_subagent_is_not_told_in_place_of_its_agent() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    let helper = r#"{"session_id":"s","agent_id":"a1","agent_type":"Explore"}"#;
    assert!(is_silent(&call(
        &world,
        "post-tool-use",
        "claude-code",
        helper
    )));
    let ran = call(&world, "post-tool-use", "claude-code", SAID);
    assert!(ran.stdout.contains(&id), "{ran:?}");
}

/// The hook does not repeat what the agent has just seen with `show`.
#[test]
fn the_tool_hook_leaves_out_what_was_just_shown() {
    let world = World::new();
    let id = ended_job(&world, "s", "true");
    assert_eq!(world.as_session("s", &["show", &id]).code, 0);
    assert!(is_silent(&call(
        &world,
        "post-tool-use",
        "claude-code",
        SAID
    )));
    let ran = call(&world, "stop", "claude-code", SAID);
    assert!(ran.stdout.contains(&id), "{ran:?}");
}

#[test]
fn many_ends_are_one_short_text_without_secrets() {
    let world = World::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let ids: Vec<String> = (0..12)
        .map(|_| {
            ended_job(
                &world,
                "s",
                &format!("echo token={secret}; seq 3000; exit 1"),
            )
        })
        .collect();
    let ran = call(&world, "user-prompt-submit", "claude-code", SAID);
    let answer = json(&ran);
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(text.chars().count() <= 10_000, "{}", text.len());
    assert!(ids.iter().all(|id| text.contains(id.as_str())), "{text}");
    assert!(text.contains("`outlive log ID`"), "{text}");
    assert!(!text.contains(secret), "{text}");
    assert!(is_silent(&call(&world, "stop", "claude-code", SAID)));
}

#[test]
fn inbox_hook_prints_the_same_as_the_hook() {
    let world = World::new();
    let id = ended_job(&world, "s", "exit 4");
    let args = ["inbox", "--session", "s", "--hook", "gemini"];
    let peeked = world.ok(&[&args[..], &["--peek"]].concat());
    let answer = world.ok(&args);
    assert_eq!(peeked, answer);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let answer = &answer["hookSpecificOutput"];
    assert_eq!(answer["hookEventName"], "BeforeAgent");
    assert!(answer["additionalContext"].as_str().unwrap().contains(&id));
    assert_eq!(world.ok(&args), "");
    assert_eq!(world.outlive(&["inbox", "--hook", "clippy"]).code, 2);
}
