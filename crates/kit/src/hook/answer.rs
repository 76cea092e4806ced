//! The answer to an agent, in its own format.

use super::{Call, Occasion};
use crate::agent::Agent;
use serde_json::Value;

/// The answer to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Printed on standard output, with exit code 0.
    Json(String),
    /// Printed on standard error, with exit code 2, which wakes an agent that does not wait for the
    /// hook.
    Wake(String),
}

impl Answer {
    pub fn to(call: &Call, text: &str) -> Answer {
        match call.occasion {
            Occasion::Wait => Answer::Wake(format!("{text}\n")),
            Occasion::Stop => Answer::Json(line(&call.agent.profile().stop_answer(text))),
            occasion => Answer::Json(context(call.agent, occasion, text)),
        }
    }
}

/// The answer that tells the agent the news and changes nothing else.
pub fn context(agent: Agent, occasion: Occasion, text: &str) -> String {
    line(&agent.profile().context_answer(occasion, text))
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use outlive_core::Label;

    fn answer(agent: &str, occasion: Occasion) -> Answer {
        let call = Call {
            agent: Agent::parse(agent).unwrap(),
            occasion,
            session: Label::parse("s").unwrap(),
            may_not_block: false,
            is_deaf: false,
            is_subagents: false,
            tool_call: None,
            sign: None,
            resumes: false,
            prompts: None,
            must_know_key: false,
        };
        Answer::to(&call, "a \"b\"\n")
    }

    #[test]
    fn each_agent_gets_its_own_format() {
        let json = |text: &str| Answer::Json(format!("{text}\n"));
        assert_eq!(
            answer("codex", Occasion::Stop),
            json(r#"{"decision":"block","reason":"a \"b\"\n"}"#)
        );
        assert_eq!(
            answer("cursor", Occasion::Stop),
            json(r#"{"followup_message":"a \"b\"\n"}"#)
        );
        assert_eq!(
            answer("auggie", Occasion::Stop),
            json(
                r#"{"hookSpecificOutput":{"decision":"block","hookEventName":"Stop","reason":"a \"b\"\n"}}"#
            )
        );
        for (agent, expected) in [
            ("copilot", r#"{"additionalContext":"a \"b\"\n"}"#),
            ("cline", r#"{"contextModification":"a \"b\"\n"}"#),
            ("amp", r#"{"message":{"content":"a \"b\"\n"}}"#),
            (
                "droid",
                r#"{"hookSpecificOutput":{"additionalContext":"a \"b\"\n","hookEventName":"PostToolUse"}}"#,
            ),
        ] {
            assert_eq!(answer(agent, Occasion::PostToolUse), json(expected));
        }
        let Answer::Json(text) = answer("gemini", Occasion::PostToolUse) else {
            panic!("not JSON");
        };
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["hookSpecificOutput"]["hookEventName"], "AfterTool");
        assert_eq!(
            answer("claude-code", Occasion::Wait),
            Answer::Wake("a \"b\"\n\n".to_owned())
        );
    }
}
