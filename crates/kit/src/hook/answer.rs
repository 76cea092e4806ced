//! What an agent is answered, in its own form.

use super::{Call, Occasion};
use crate::agent::Agent;
use serde_json::{Value, json};

/// What to hand to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// On standard output; exit 0.
    Json(String),
    /// On standard error; exit 2, which wakes an agent that called without waiting.
    Wake(String),
}

impl Answer {
    pub fn to(call: &Call, text: &str) -> Answer {
        let value = match (call.occasion, call.agent) {
            (Occasion::Wait, _) => return Answer::Wake(format!("{text}\n")),
            (Occasion::Stop, Agent::Cursor) => json!({"followup_message": text}),
            (Occasion::Stop, Agent::Gemini) => json!({"decision": "deny", "reason": text}),
            (Occasion::Stop, _) => json!({"decision": "block", "reason": text}),
            (occasion, agent) => return Answer::Json(context(agent, occasion, text)),
        };
        Answer::Json(line(&value))
    }
}

/// News as something for the agent to know, beside what it is doing.
pub fn context(agent: Agent, occasion: Occasion, text: &str) -> String {
    line(&match agent {
        Agent::Cursor => json!({"additional_context": text}),
        _ => json!({"hookSpecificOutput": {
            "hookEventName": event_name(agent, occasion),
            "additionalContext": text,
        }}),
    })
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

/// What the agent calls this occasion.
fn event_name(agent: Agent, occasion: Occasion) -> &'static str {
    match (occasion, agent) {
        (Occasion::SessionStart, _) => "SessionStart",
        (Occasion::UserPromptSubmit, Agent::Gemini) => "BeforeAgent",
        (Occasion::UserPromptSubmit, _) => "UserPromptSubmit",
        (Occasion::PostToolUse, Agent::Gemini) => "AfterTool",
        (Occasion::PostToolUse, _) => "PostToolUse",
        (Occasion::Stop | Occasion::Wait, Agent::Gemini) => "AfterAgent",
        (Occasion::Stop | Occasion::Wait, _) => "Stop",
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use outlive_core::Label;

    fn answer(agent: Agent, occasion: Occasion) -> Answer {
        let call = Call {
            agent,
            occasion,
            session: Label::parse("s").unwrap(),
            may_not_block: false,
            is_deaf: false,
            must_know_key: false,
        };
        Answer::to(&call, "a \"b\"\n")
    }

    #[test]
    fn each_agent_has_its_form() {
        let json = |text: &str| Answer::Json(format!("{text}\n"));
        for agent in [Agent::ClaudeCode, Agent::Codex] {
            assert_eq!(
                answer(agent, Occasion::Stop),
                json(r#"{"decision":"block","reason":"a \"b\"\n"}"#)
            );
        }
        assert_eq!(
            answer(Agent::Cursor, Occasion::Stop),
            json(r#"{"followup_message":"a \"b\"\n"}"#)
        );
        let Answer::Json(text) = answer(Agent::Gemini, Occasion::PostToolUse) else {
            panic!("not JSON");
        };
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["hookSpecificOutput"]["hookEventName"], "AfterTool");
        assert_eq!(
            answer(Agent::ClaudeCode, Occasion::Wait),
            Answer::Wake("a \"b\"\n\n".to_owned())
        );
    }
}
