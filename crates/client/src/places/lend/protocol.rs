//! What a tunnel and a lender say to each other: one JSON object a line.
//!
//! ```text
//!  lender ─► {"lends":{"version":1,"input":false,"serial":false}}
//!         ◄─ {"execute":{"id":1,"command":"…","timeout_ms":35000}}
//!         ─► {"result":{"id":1,"output":"…"}}
//!         ◄─ {"cancel":{"id":2}}
//! ```
//! The lender speaks first. There may be many requests at once, and their results come in any order. A request of a connection
//! that has ended is called off. Who gets a key that it does not know ignores it.

use serde::{Deserialize, Serialize};

/// The version of these messages.
pub const VERSION: u32 = 1;

/// What is asked of a lender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Execute this, and answer with a [`Done`] of the same id.
    Execute(Command),
    /// Nobody waits for this any more. It may be ended, and needs no answer.
    Cancel { id: u64 },
}

/// A command line to be executed in the sandbox.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub id: u64,
    /// For a shell of the sandbox.
    pub command: String,
    /// The standard input of the command, if the lender has offered that. It may be a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// After this time it may be ended.
    pub timeout_ms: u64,
}

/// What a lender says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    Lends(Offer),
    Result(Done),
}

/// What a lender can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub version: u32,
    /// Commands can have a standard input.
    #[serde(default)]
    pub input: bool,
    /// One command is executed at a time, and keeps the sandbox from everything else.
    #[serde(default)]
    pub serial: bool,
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub id: u64,
    /// What it printed, or a part of that. Errors may stand among the rest.
    #[serde(default)]
    pub output: String,
    /// It was ended because it took too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why it could not be executed, or may not have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The sandbox is not there any more, so nothing can be executed in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// The input may be a secret, and so may be what the command is about.
impl std::fmt::Debug for Command {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "command {} of {} bytes", self.id, self.command.len())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    /// Programs in other languages write these lines.
    #[test]
    fn the_lines_are_those_of_the_documentation() {
        let asked: Asked =
            serde_json::from_str(r#"{"execute":{"id":1,"command":"true","timeout_ms":5}}"#)
                .unwrap();
        let command = Command {
            id: 1,
            command: "true".to_owned(),
            input: None,
            timeout_ms: 5,
        };
        assert_eq!(asked, Asked::Execute(command));
        let told = |text| serde_json::from_str::<Told>(text).unwrap();
        assert_eq!(
            told(r#"{"result":{"id":1,"output":"hi","later":true}}"#),
            Told::Result(Done {
                id: 1,
                output: "hi".to_owned(),
                ..Done::default()
            })
        );
        let offer = Offer {
            version: 1,
            ..Offer::default()
        };
        assert_eq!(told(r#"{"lends":{"version":1}}"#), Told::Lends(offer));
        let gone = Done {
            id: 2,
            error: Some("it was stopped".to_owned()),
            gone: true,
            ..Done::default()
        };
        let text = serde_json::to_string(&Told::Result(gone)).unwrap();
        assert_eq!(
            text,
            r#"{"result":{"id":2,"output":"","error":"it was stopped","gone":true}}"#
        );
    }
}
