//! `send`: writes to a job's input.

use super::{Hints, Verb};
use crate::call::Call;
use crate::identity;
use crate::reply::{Refused, Reply};
use outlive::keys::Key;
use outlive::verbs::send;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Send;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The job: its id, the beginning of its id, or its name
    pub id: String,
    /// Text to write, as it is
    pub text: Option<String>,
    /// Press Enter after the text
    #[serde(default)]
    pub enter: bool,
    /// Press keys after that: C-c, C-d, Up, Down, Tab, Esc, F5, M-x, …
    #[serde(default)]
    pub keys: Vec<String>,
    /// Then end the input of the job
    #[serde(default)]
    pub eof: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    id: String,
    /// Whether this call was made before, so that nothing was written now; null if that is not known
    repeated: Option<bool>,
    /// Notes about what may not be as expected
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Verb for Send {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "send";
    const TITLE: &'static str = "Write to a job";
    const DESCRIPTION: &'static str = "\
Write to the standard input or the terminal of a job that was started with `stdin: true` or `pty: true`: \
answer a question, type a command into a REPL, press keys, or end the input.\n\
`text` is written as it is; set `enter` to finish the line. The order is text, Enter, keys, end of input. It \
arrives once and whole. To see the effect call `log` (with `screen: true` for a full-screen program), or \
`wait` with `for: \"input\"` until the job asks again.";
    const HINTS: Hints = Hints::Acts;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let text = args.text.unwrap_or_default();
        if text.is_empty() && !args.enter && args.keys.is_empty() && !args.eof {
            return Err(Refused::bad_input(
                "there is nothing to send: give text, enter, keys or eof",
            ));
        }
        let keys = args.keys.iter().map(|key| Key::parse(key));
        let keys = keys
            .collect::<Result<Vec<Key>, _>>()
            .map_err(Refused::bad_input)?;
        let id = call.find(&args.id)?;
        // A repeated call does not write twice.
        let write_id = call.id.as_deref();
        let write_id = write_id.map(|call_id| identity::write_id(&call.session, call_id));
        let what = send::Send {
            text: text.into(),
            paste: false,
            enter: args.enter,
            keys,
            eof: args.eof,
            write_id: write_id.transpose()?,
        };
        let send::Sent { repeated, notes } = send::send(&call.outlive, &id, &what)?;
        let mut said = match repeated {
            Some(true) => format!("Not sent to {id} again: this call was made before."),
            Some(false) | None => format!("Sent to {id}."),
        };
        for note in notes.iter().filter(|_| repeated != Some(true)) {
            said.push_str(&format!(" Note: {note}"));
        }
        let answer = Answer {
            id: id.to_string(),
            repeated,
            notes,
        };
        Ok(Reply::new(said, answer))
    }
}
