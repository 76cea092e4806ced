//! Finds out which session calls, and identifies repeated calls.
//!
//! The session is the first of these that there is:
//!
//! 1. the one that the server was started for, which no request can override: `--session`, or `OUTLIVE_SESSION` if the
//!    server serves one agent,
//! 2. the one that the request names,
//! 3. the conversation that the agent has now, as its hooks have written it down ([`Conversation`]),
//! 4. `OUTLIVE_SESSION` or an agent's own variable in the server's environment,
//! 5. a session of this server alone.
//!
//! The environment comes so late because it does not change: in Claude Code a person can begin or resume
//! another conversation while the server runs.

use outlive::agent::{AgentProcess, Conversation, ToolCall};
use outlive::{Error, JobId, Label, Outlive, WriteId, clock};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The metadata of a request.
pub type Meta = Map<String, Value>;

/// The argument in which a plugin of the client names who calls (see [`NamedCaller`]).
pub const CALLER: &str = "outlive_caller";

/// What a request says about who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub meta: &'a Meta,
    /// The session that the HTTP request names.
    pub header: Option<&'a str>,
    /// What a plugin says. Only a server that was started for such a plugin reads it: elsewhere the model
    /// could write this argument itself.
    pub named: Option<&'a NamedCaller>,
}

/// Who calls, as a plugin of the client says. The plugin delivers the news too.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NamedCaller {
    session: String,
    /// A helper of the agent calls.
    #[serde(default)]
    helper: bool,
}

/// The keys of `_meta` under which clients name their conversation, in the order to look. Codex sends
/// the first two; the last one is ours, for other clients.
const SESSION_KEYS: [&str; 3] = ["threadId", "sessionId", "outlive/session"];
/// Codex has them in this object too.
const TURN: &str = "x-codex-turn-metadata";
const TURN_KEYS: [&str; 2] = ["thread_id", "session_id"];
/// Claude Code's id of the tool call, which its hooks are told too.
const TOOL_CALL: &str = "claudecode/toolUseId";
const CALL_KEYS: [&str; 2] = ["callId", "outlive/call"];

/// How the session of a call is found.
#[derive(Clone, Debug)]
pub struct Sessions {
    given: Option<Label>,
    surrounding: Option<Label>,
    made: Label,
    /// The agent that started this server, if it serves one agent.
    agent: Option<AgentProcess>,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub session: Label,
    /// The agent's hooks tell the events of this session, so replies need not.
    pub has_hooks: bool,
    /// A helper of the agent calls. The agent is told the news, so the helper only looks.
    pub is_helper: bool,
}

impl Sessions {
    /// `surrounding` is the session in the environment.
    pub fn new(given: Option<Label>, surrounding: Option<&str>) -> Result<Sessions, Error> {
        let surrounding = surrounding.map(|key| label("the session in the environment,", key));
        // Unique on this machine, which is enough for one home.
        let made = format!("mcp-{}-{}", clock::wall().ms(), std::process::id());
        Ok(Sessions {
            given,
            surrounding: surrounding.transpose()?,
            made: label("the session", &made)?,
            agent: None,
        })
    }

    /// The server serves the agent that started it, and nobody else.
    pub fn of_agent(self, agent: Option<AgentProcess>) -> Sessions {
        Sessions { agent, ..self }
    }

    /// The agent that started this server, if it serves one agent.
    pub fn agent(&self) -> Option<AgentProcess> {
        self.agent
    }

    /// Who sent a request.
    pub fn of(&self, outlive: &Outlive, asked: Asked<'_>) -> Result<Identity, Error> {
        let Asked {
            meta,
            header,
            named,
        } = asked;
        let hooks = self
            .agent
            .and_then(|agent| Conversation::of(outlive, &agent));
        let hooks = hooks.map(|conversation| conversation.session);
        let session = match (&self.given, name_in(meta, named).or(header)) {
            (Some(given), _) => given.clone(),
            (None, Some(key)) => label("the session of the request,", key)?,
            (None, None) => {
                let known = hooks.as_ref().or(self.surrounding.as_ref());
                known.unwrap_or(&self.made).clone()
            }
        };
        Ok(Identity {
            has_hooks: named.is_some() || hooks.as_ref() == Some(&session),
            is_helper: named.is_some_and(|caller| caller.helper) || self.is_helpers(outlive, meta),
            session,
        })
    }

    /// Whether a hook has noted that a helper makes this call. This can be asked once for each call.
    fn is_helpers(&self, outlive: &Outlive, meta: &Meta) -> bool {
        let call = text_of(meta, &[TOOL_CALL]).and_then(ToolCall::parse);
        call.zip(self.agent)
            .is_some_and(|(call, agent)| call.take_helper(outlive, &agent))
    }

    /// Whether this session exists only as long as the server.
    pub fn is_made(&self, session: &Label) -> bool {
        *session == self.made
    }
}

fn name_in<'a>(meta: &'a Meta, named: Option<&'a NamedCaller>) -> Option<&'a str> {
    named
        .map(|caller| caller.session.as_str())
        .or_else(|| text_of(meta, &SESSION_KEYS))
        .or_else(|| text_of(meta.get(TURN)?.as_object()?, &TURN_KEYS))
}

/// Identifies this call, so that a repeated call can be recognised; `None` if the client sends no id.
/// Some models number their calls from 0 in every answer, so the id alone is not enough: the arguments,
/// and the turn and item that Codex names, are part of it.
pub fn call_id(meta: &Meta, arguments: &Meta) -> Option<String> {
    let id = text_of(meta, &CALL_KEYS)?;
    let turn = meta.get(TURN).and_then(Value::as_object);
    let turn = turn.and_then(|turn| text_of(turn, &["turn_id"]));
    let item = text_of(meta, &["itemId"]);
    let arguments = Value::Object(arguments.clone()).to_string();
    let parts = [id, turn.unwrap_or(""), item.unwrap_or(""), &arguments];
    Some(parts.join("\0"))
}

fn text_of<'a>(map: &'a Meta, keys: &[&str]) -> Option<&'a str> {
    let texts = keys.iter().filter_map(|key| map.get(*key)?.as_str());
    texts.into_iter().find(|text| !text.is_empty())
}

pub(crate) fn label(what: &'static str, text: &str) -> Result<Label, Error> {
    Label::parse(text).map_err(|reason| Error::BadLabel {
        what,
        text: text.to_owned(),
        reason,
    })
}

/// The id of the job that a call starts. A repeated call gets the same id.
pub fn job_id(session: &Label, call: &str) -> Result<JobId, Error> {
    Ok(JobId::parse(&format!("call-{}", digest(session, call)))?)
}

/// The id of what a call writes to a job.
pub fn write_id(session: &Label, call: &str) -> Result<WriteId, Error> {
    Ok(WriteId::parse(&format!("call-{}", digest(session, call)))?)
}

/// FNV-1a of both, 64 bits, written like a job id. Call ids are random or counted, not chosen to
/// collide. So 64 bits tell apart all calls of a session, and are short enough to type.
fn digest(session: &Label, call: &str) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    // A label contains no control character, so this byte separates the two.
    for byte in session.as_str().bytes().chain([0]).chain(call.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (0..13)
        .map(|place| char::from(ALPHABET[(hash >> (5 * place)) as usize & 31]))
        .collect()
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use outlive::agent;
    use serde_json::json;

    fn meta(value: Value) -> Meta {
        value.as_object().unwrap().clone()
    }

    fn key(text: &str) -> Label {
        Label::parse(text).unwrap()
    }

    fn asked(meta: &Meta) -> Asked<'_> {
        Asked {
            meta,
            header: None,
            named: None,
        }
    }

    #[test]
    fn a_plugin_names_who_calls() {
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let sessions = Sessions::new(None, Some("environment")).unwrap();
        let none = Meta::new();
        for (caller, is_helper) in [
            (json!({"session": "s", "helper": true}), true),
            (json!({"session": "s"}), false),
        ] {
            let named: NamedCaller = serde_json::from_value(caller).unwrap();
            let named = Some(&named);
            let asked = Asked {
                named,
                ..asked(&none)
            };
            let expected = Identity {
                session: key("s"),
                has_hooks: true,
                is_helper,
            };
            assert_eq!(sessions.of(&outlive, asked).unwrap(), expected);
        }
    }

    #[test]
    fn the_session_comes_from_the_start_the_request_the_environment_or_the_server() {
        let codex = meta(json!({"threadId": "t", "sessionId": "s", "callId": "c"}));
        let turn = meta(json!({TURN: {"session_id": "s", "thread_id": "u"}}));
        let own = meta(json!({"outlive/session": "mine", "sessionId": ""}));
        let none = Meta::new();
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let of = |given: Option<&str>, surrounding: Option<&str>, meta: &Meta| {
            let sessions = Sessions::new(given.map(key), surrounding).unwrap();
            let session = sessions.of(&outlive, asked(meta)).unwrap().session;
            match sessions.is_made(&session) {
                true => "made".to_owned(),
                false => session.to_string(),
            }
        };
        for (given, surrounding, meta, session) in [
            (Some("g"), Some("e"), &codex, "g"),
            (None, Some("e"), &codex, "t"),
            (None, Some("e"), &turn, "u"),
            (None, Some("e"), &own, "mine"),
            (None, Some("e"), &none, "e"),
            (None, None, &none, "made"),
        ] {
            assert_eq!(of(given, surrounding, meta), session, "{meta:?}");
        }
    }

    #[test]
    fn the_conversation_that_the_hooks_know_counts_more_than_the_environment() {
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let agent = agent::of_caller().unwrap();
        let sessions = Sessions::new(None, Some("old")).unwrap().of_agent(agent);
        let of = |meta: &Meta| {
            let identity = sessions.of(&outlive, asked(meta)).unwrap();
            (identity.session.to_string(), identity.has_hooks)
        };
        let none = Meta::new();
        assert_eq!(of(&none), ("old".to_owned(), false));
        for session in ["one", "two"] {
            let session = key(session);
            let entered = Conversation {
                session: session.clone(),
            };
            entered.enter(&outlive, &agent.unwrap()).unwrap();
            assert_eq!(of(&none), (session.to_string(), true));
        }
        let thread = meta(json!({"threadId": "helper"}));
        assert_eq!(of(&thread), ("helper".to_owned(), false));
    }

    #[test]
    fn an_invalid_session_is_refused_and_a_header_may_name_one() {
        let sessions = Sessions::new(None, None).unwrap();
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let long = meta(json!({"threadId": "x".repeat(81)}));
        assert!(matches!(
            sessions.of(&outlive, asked(&long)),
            Err(Error::BadLabel { .. })
        ));
        let of = |meta: &Meta| {
            let header = Some("header");
            let asked = Asked {
                header,
                ..asked(meta)
            };
            sessions.of(&outlive, asked).unwrap().session
        };
        assert_eq!(of(&Meta::new()), key("header"));
        assert_eq!(of(&meta(json!({"sessionId": "s"}))), key("s"));
    }

    #[test]
    fn a_call_is_the_same_only_in_the_same_turn_and_with_the_same_arguments() {
        let run = meta(json!({"command": "make"}));
        let of = |value: Value, arguments: &Meta| call_id(&meta(value), arguments);
        let first = json!({"callId": "0", TURN: {"turn_id": "a"}, "itemId": "i"});
        assert_eq!(of(first.clone(), &run), of(first.clone(), &run));
        for (other, arguments) in [
            (
                json!({"callId": "1", TURN: {"turn_id": "a"}, "itemId": "i"}),
                &run,
            ),
            (
                json!({"callId": "0", TURN: {"turn_id": "b"}, "itemId": "i"}),
                &run,
            ),
            (
                json!({"callId": "0", TURN: {"turn_id": "a"}, "itemId": "j"}),
                &run,
            ),
            (json!({"callId": "0"}), &run),
            (first.clone(), &Meta::new()),
        ] {
            assert_ne!(of(other, arguments), of(first.clone(), &run));
        }
        assert_eq!(of(json!({"threadId": "t"}), &run), None);
    }

    #[test]
    fn only_a_repeated_call_gets_the_same_id() {
        let id = |session: &str, call: &str| job_id(&key(session), call).unwrap();
        assert_eq!(id("s", "call_1"), id("s", "call_1"));
        assert_eq!(id("s", "call_1").as_str(), "call-t86ntnqp1spj5");
        for (session, call) in [("s", "call_2"), ("t", "call_1"), ("sc", "all_1")] {
            assert_ne!(id("s", "call_1"), id(session, call));
        }
        assert!(write_id(&key("s"), "call_1").is_ok());
    }
}
