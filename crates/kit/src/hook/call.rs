//! The input of a hook.

use super::NotServed;
use crate::agent::Agent;
use outlive::agent::{Sign, ToolCall, Transcript};
use outlive::{clock, environment};
use outlive_core::BootTime;
use outlive_core::Label;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// The occasion on which an agent calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A conversation begins, or continues after a restart or a compaction.
    SessionStart,
    UserPromptSubmit,
    /// Before a tool call. Tells nothing; it shows who makes the call, and that the model has answered.
    PreToolUse,
    PostToolUse,
    /// The agent is about to end its turn.
    Stop,
    /// The hook runs in parallel to the idle agent and wakes it when there is news.
    Wait,
}

impl Occasion {
    pub fn name(self) -> &'static str {
        match self {
            Occasion::SessionStart => "session-start",
            Occasion::UserPromptSubmit => "user-prompt-submit",
            Occasion::PreToolUse => "pre-tool-use",
            Occasion::PostToolUse => "post-tool-use",
            Occasion::Stop => "stop",
            Occasion::Wait => "wait",
        }
    }

    /// Parses our name for an occasion, or an agent's name for it.
    pub fn parse(text: &str) -> Option<Occasion> {
        let plain: String = text
            .chars()
            .filter(|c| !matches!(c, '-' | '_'))
            .flat_map(char::to_lowercase)
            .collect();
        Some(match plain.as_str() {
            "sessionstart" => Occasion::SessionStart,
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => Occasion::UserPromptSubmit,
            "pretooluse" | "beforetool" => Occasion::PreToolUse,
            "posttooluse" | "aftertool" => Occasion::PostToolUse,
            "stop" | "afteragent" => Occasion::Stop,
            "wait" | "async" | "rewake" => Occasion::Wait,
            _ => return None,
        })
    }
}

/// One call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub agent: Agent,
    pub occasion: Occasion,
    pub session: Label,
    /// The turn continues because a hook asked for it, or it was cancelled. It must end now.
    pub may_not_block: bool,
    /// The agent would not read the answer. Either one of its subagents calls, or it cannot be woken.
    pub is_deaf: bool,
    /// One of the agent's subagents calls. It has the session of its agent, and says nothing about it.
    pub is_subagents: bool,
    /// The tool call that the hook is about.
    pub tool_call: Option<ToolCall>,
    /// What the call shows about what the agent was handed before.
    pub sign: Option<Sign>,
    /// The conversation goes on after the agent had ended or had left it.
    pub resumes: bool,
    /// The transcript, if a prompt begins a turn.
    pub prompts: Option<Transcript>,
    /// The agent's shells do not know the session, so the agent must be told its key.
    pub must_know_key: bool,
}

/// The fields that Outlive reads from an agent's JSON. Agents send more, and add fields with each
/// release.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct HookInput {
    thread_id: Option<String>,
    #[serde(alias = "sessionId")]
    session_id: Option<String>,
    #[serde(alias = "conversationId")]
    conversation_id: Option<String>,
    #[serde(default)]
    stop_hook_active: Option<bool>,
    /// Cursor: how often a hook made it continue.
    #[serde(default)]
    loop_count: Option<u64>,
    /// Cursor: how the turn ended.
    status: Option<String>,
    pub(crate) cursor_version: Option<IgnoredAny>,
    /// Auggie: how the turn ended.
    agent_stop_cause: Option<String>,
    /// Claude Code, Codex and Qwen Code: the subagent that calls, if one does. Cline: whoever calls.
    agent_id: Option<IgnoredAny>,
    /// Cline: the agent that started the one that calls.
    parent_agent_id: Option<IgnoredAny>,
    #[serde(rename = "sessionContext")]
    cline: Option<ClineSession>,
    /// Cline: has the duration of the tool call.
    tool_result: Option<Value>,
    /// Claude Code: the tool call. The request to the tool names the same id.
    tool_use_id: Option<String>,
    /// Most agents: where they keep the conversation.
    #[serde(alias = "transcriptPath")]
    transcript_path: Option<PathBuf>,
    /// Claude Code: why a conversation begins.
    source: Option<String>,
    /// Claude Code and Qwen Code: how long the tool call took.
    duration_ms: Option<f64>,
}

/// What Cline's JSON says about the session.
#[derive(Debug, Deserialize)]
struct ClineSession {
    #[serde(rename = "rootSessionId")]
    root: Option<String>,
}

impl HookInput {
    fn is_subagents(&self) -> bool {
        match self.cline {
            Some(_) => self.parent_agent_id.is_some(),
            None => self.agent_id.is_some(),
        }
    }

    /// A hook made this turn continue, or the turn was interrupted.
    fn may_not_block(&self) -> bool {
        let is_other = |how: &Option<String>, end: &str| how.as_ref().is_some_and(|how| how != end);
        self.stop_hook_active == Some(true)
            || self.loop_count.is_some_and(|count| count > 0)
            || is_other(&self.status, "completed")
            || is_other(&self.agent_stop_cause, "end_turn")
    }

    /// How long the tool call took, without its hooks.
    fn took(&self) -> Option<Duration> {
        let in_result = || self.tool_result.as_ref()?.get("durationMs")?.as_f64();
        let ms = self.duration_ms.or_else(in_result)?;
        Duration::try_from_secs_f64(ms / 1000.0).ok()
    }
}

/// Why a conversation begins if it goes on with the context that it had.
const COMPACTED: &str = "compact";

impl Call {
    /// Reads one JSON object. Does not wait for the end of the input, because some agents leave it
    /// open.
    pub fn read(source: impl Read, occasion: &str, agent: Option<&str>) -> Result<Call, NotServed> {
        let called_at = clock::boot();
        let occasion = Occasion::parse(occasion)
            .ok_or_else(|| NotServed::UnknownOccasion(occasion.to_owned()))?;
        let agent = agent.map(Agent::parse).transpose()?;
        let mut json = serde_json::Deserializer::from_reader(source);
        let input = HookInput::deserialize(&mut json)?;
        let own = environment::own_session();
        let must_know_key = own.is_none();
        let writer = Agent::find(|profile| profile.wrote(&input));
        let agent = agent.unwrap_or_else(|| guess(writer));
        let is_subagents = input.is_subagents();
        let transcript = input.transcript_path.clone().and_then(Transcript::at);
        let can_be_woken = |agent: Agent| agent.profile().can_be_woken();
        Ok(Call {
            agent,
            occasion,
            is_deaf: is_subagents
                || !agent.profile().reads_answer(occasion)
                || (occasion == Occasion::Wait
                    && !(writer.is_none_or(can_be_woken) && can_be_woken(agent))),
            is_subagents,
            tool_call: input.tool_use_id.as_deref().and_then(ToolCall::parse),
            sign: sign(agent, occasion, &input, called_at, transcript.as_ref()),
            prompts: transcript.filter(|_| occasion == Occasion::UserPromptSubmit),
            resumes: occasion == Occasion::SessionStart
                && input.source.as_deref() != Some(COMPACTED),
            must_know_key: must_know_key && !agent.profile().shells_know_session(),
            may_not_block: input.may_not_block(),
            session: session(own, input)?,
        })
    }
}

/// What this call shows about what the agent was handed before.
fn sign(
    agent: Agent,
    occasion: Occasion,
    input: &HookInput,
    called_at: BootTime,
    transcript: Option<&Transcript>,
) -> Option<Sign> {
    let written = transcript.and_then(Transcript::written);
    let end = Sign::TurnEnd { at: called_at };
    match occasion {
        Occasion::Stop => Some(end),
        Occasion::Wait => agent.profile().only_waits().then_some(end),
        Occasion::PreToolUse => Some(Sign::ToolCall {
            began: Some(called_at),
            written,
        }),
        Occasion::PostToolUse => {
            let began = input.took().map(|took| called_at - took);
            Some(Sign::ToolCall { began, written })
        }
        // The model is asked after these.
        Occasion::SessionStart | Occasion::UserPromptSubmit => None,
    }
}

/// Guesses the caller: the agent that the JSON shows, or else the one whose variable is set.
fn guess(writer: Option<Agent>) -> Agent {
    let is_set = |name| environment::non_empty(name).is_some();
    writer
        .or_else(|| Agent::find(|profile| profile.own_variable().is_some_and(is_set)))
        .unwrap_or_else(Agent::fallback)
}

/// The session that the agent's shells have too: the variable for all agents first, then the JSON.
fn session(own: Option<String>, input: HookInput) -> Result<Label, NotServed> {
    let text = [
        own,
        input.thread_id,
        input.session_id,
        input.conversation_id,
        input.cline.and_then(|session| session.root),
    ]
    .into_iter()
    .flatten()
    .find(|text| !text.is_empty())
    .or_else(environment::session)
    .ok_or(NotServed::NoSession)?;
    Label::parse(&text).map_err(|reason| NotServed::BadSession { text, reason })
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;

    fn read(json: &str, agent: Option<&str>) -> Result<Call, NotServed> {
        Call::read(json.as_bytes(), "stop", agent)
    }

    #[test]
    fn the_agents_own_names_of_occasions_are_known() {
        for (text, occasion) in [
            ("SessionStart", Occasion::SessionStart),
            ("sessionStart", Occasion::SessionStart),
            ("BeforeAgent", Occasion::UserPromptSubmit),
            ("AfterTool", Occasion::PostToolUse),
            ("post-tool-use", Occasion::PostToolUse),
            ("AfterAgent", Occasion::Stop),
            ("async", Occasion::Wait),
        ] {
            assert_eq!(Occasion::parse(text), Some(occasion), "{text}");
        }
        assert_eq!(Occasion::parse("PreCompact"), None);
    }

    #[test]
    fn unknown_fields_are_ignored_and_the_input_need_not_end() {
        let json = r#"{"session_id":"s1","new":{"a":[1]},"stop_hook_active":true} {"half"#;
        let call = read(json, None).map_err(|error| error.to_string());
        let expected = Call {
            agent: Agent::parse("claude-code").unwrap(),
            occasion: Occasion::Stop,
            session: Label::parse("s1").unwrap(),
            may_not_block: true,
            is_deaf: false,
            is_subagents: false,
            tool_call: None,
            sign: call.as_ref().ok().and_then(|call| call.sign),
            resumes: false,
            prompts: None,
            must_know_key: false,
        };
        assert!(matches!(expected.sign, Some(Sign::TurnEnd { .. })));
        assert_eq!(call, Ok(expected));
    }

    #[test]
    fn cursors_loop_count_stops_the_turn_from_continuing() {
        for (rest, may_not_block) in [
            (r#""loop_count":0,"status":"completed""#, false),
            (r#""loop_count":1,"status":"completed""#, true),
            (r#""loop_count":0,"status":"aborted""#, true),
        ] {
            let json = format!(r#"{{"conversation_id":"c","cursor_version":"3",{rest}}}"#);
            let call = read(&json, None).unwrap();
            assert_eq!(call.agent.name(), "cursor");
            assert_eq!(call.session.as_str(), "c");
            assert!(call.must_know_key);
            assert_eq!(call.may_not_block, may_not_block, "{rest}");
        }
    }

    #[test]
    fn a_call_shows_when_the_model_answered_last() {
        let sign = |event: &str, agent: &str, json: &str| {
            let call = Call::read(json.as_bytes(), event, Some(agent)).unwrap();
            (call.sign, call.resumes)
        };
        let said = r#"{"session_id":"s","source":"resume"}"#;
        assert_eq!(sign("session-start", "claude-code", said), (None, true));
        let said = r#"{"session_id":"s","source":"compact"}"#;
        assert_eq!(sign("session-start", "claude-code", said), (None, false));
        let said = r#"{"session_id":"s","duration_ms":1500.5}"#;
        assert_eq!(
            sign("user-prompt-submit", "claude-code", said),
            (None, false)
        );
        let (after, _) = sign("post-tool-use", "claude-code", said);
        let Some(Sign::ToolCall {
            began: Some(began), ..
        }) = after
        else {
            panic!("{after:?}");
        };
        let ago = clock::boot().since(began).as_millis();
        assert!((1500..60_000).contains(&ago), "{ago}");
        let said = r#"{"session_id":"s"}"#;
        assert_eq!(
            sign("post-tool-use", "codex", said).0,
            Some(Sign::ToolCall {
                began: None,
                written: None
            })
        );
        assert_eq!(
            sign("wait", "claude-code", said).0,
            None,
            "`stop` is called too"
        );
        assert!(matches!(
            sign("wait", "opencode", said).0,
            Some(Sign::TurnEnd { .. })
        ));
    }

    /// What the real programs sent, shortened.
    #[test]
    fn the_json_of_each_agent_names_its_session() {
        let qwen = r#"{"session_id":"121d16d6","transcript_path":"/c.jsonl","cwd":"/w","hook_event_name":"PostToolUse","timestamp":"2026-11-19T06:04:01.917Z","permission_mode":"yolo","prompt_id":"121d16d6########0","tool_name":"run_shell_command","tool_input":{"command":"x"},"tool_response":{"llmContent":"x"},"tool_use_id":"toolu_1_k","tool_call_id":"call_2","duration_ms":27}"#;
        let copilot = r#"{"hook_event_name":"PostToolUse","session_id":"6c638f90","timestamp":"2026-11-19T06:05:01.572Z","cwd":"/w","tool_name":"outlive-run","tool_input":{"command":"x"},"tool_result":{"result_type":"success","text_result_for_llm":"x"}}"#;
        let droid = r#"{"session_id":"cb88cff7","transcript_path":"/c.jsonl","cwd":"/w","permission_mode":"auto-high","hook_event_name":"PostToolUse","tool_name":"Execute","tool_input":{"command":"x"},"tool_response":"x"}"#;
        let cline = r#"{"clineVersion":"","timestamp":"2026-11-19T06:08:44.351Z","taskId":"conv_1_j","sessionContext":{"rootSessionId":"1795_40tni"},"workspaceRoots":["/w"],"userId":"unknown","agent_id":"agent_1_w","parent_agent_id":null,"hookName":"tool_result","iteration":1,"tool_result":{"id":"call_1","name":"run_commands","output":[{"result":"x"}],"durationMs":89}}"#;
        for (agent, json, session, knows_duration) in [
            ("qwen", qwen, "121d16d6", true),
            ("copilot", copilot, "6c638f90", false),
            ("droid", droid, "cb88cff7", false),
            ("cline", cline, "1795_40tni", true),
        ] {
            let call = Call::read(json.as_bytes(), "post-tool-use", Some(agent)).unwrap();
            assert_eq!(call.session.as_str(), session, "{agent}");
            assert!(!call.is_subagents && !call.is_deaf, "{agent}");
            let Some(Sign::ToolCall { began, .. }) = call.sign else {
                panic!("{agent}: {call:?}");
            };
            assert_eq!(began.is_some(), knows_duration, "{agent}");
        }
    }

    #[test]
    fn clines_agents_all_have_an_id_and_its_helpers_have_a_parent() {
        let call = |parent: &str, event: &str| {
            let json = format!(
                r#"{{"sessionContext":{{"rootSessionId":"r"}},"agent_id":"a","parent_agent_id":{parent}}}"#
            );
            Call::read(json.as_bytes(), event, Some("cline")).unwrap()
        };
        assert!(!call("null", "post-tool-use").is_subagents);
        assert!(call("\"b\"", "post-tool-use").is_subagents);
        let end = call("null", "stop");
        assert!(end.is_deaf, "Cline does not read the answer");
        assert!(matches!(end.sign, Some(Sign::TurnEnd { .. })));
    }

    /// As its package shows.
    #[test]
    fn an_interrupted_auggie_is_not_made_to_continue() {
        for (cause, may_not_block) in [("end_turn", false), ("interrupted", true)] {
            let json = format!(r#"{{"conversation_id":"c","agent_stop_cause":"{cause}"}}"#);
            let call = read(&json, Some("auggie")).unwrap();
            assert_eq!(call.may_not_block, may_not_block, "{cause}");
        }
    }

    /// Cursor can run the hooks of Claude Code, and would block on a hook that waits.
    #[test]
    fn cursor_never_waits_in_a_hook() {
        let json = r#"{"conversation_id":"c","cursor_version":"3"}"#;
        let wait = Call::read(json.as_bytes(), "wait", Some("claude-code"));
        assert!(wait.unwrap().is_deaf);
        assert!(!read(json, Some("claude-code")).unwrap().is_deaf);
    }

    #[test]
    fn input_that_is_no_hook_call_is_refused() {
        for (json, agent) in [
            ("", None),
            ("[]", None),
            (r#"{"session_id":5}"#, None),
            (r#"{"session_id":"a\u0007b"}"#, None),
            (r#"{"session_id":"a"}"#, Some("clippy")),
        ] {
            assert!(read(json, agent).is_err(), "{json}");
        }
        assert!(Call::read(&b"{}"[..], "nonsense", None).is_err());
    }
}
