//! `send`: writes to a job's input, or sends it a signal.

use super::{Hints, Verb};
use crate::call::Call;
use crate::identity;
use crate::reply::{Refused, Reply};
use outlive::keys::Key;
use outlive::verbs::resize;
use outlive::verbs::send::{self, Sent};
use outlive::verbs::signal::{self, SendSignal, Signaled};
use outlive::{JobId, Signal, Size, agree, count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Send;

#[derive(Debug, Default, Deserialize, JsonSchema)]
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
    /// Instead of input: send this signal to all processes of the job, such as HUP or USR1
    pub signal: Option<String>,
    /// First make the job's terminal this large: ROWSxCOLS, such as 40x120
    pub resize: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// What was done
    done: String,
    /// This call was made before, so nothing was written now
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
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
answer a question, type into a REPL, press keys, end the input. Or send a signal to any job, or resize its \
terminal.\n\
`text` is written as it is; set `enter` to finish the line. To see the effect call `log` (with \
`screen: true` for a full-screen program), or `wait` with `for: \"input\"` until the job asks again. To end a job use `stop`.";
    const HINTS: Hints = Hints::Acts;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let text = args.text.unwrap_or_default();
        let writes = !text.is_empty() || args.enter || !args.keys.is_empty() || args.eof;
        let signal = args.signal.as_deref().map(Signal::parse);
        let signal = signal.transpose().map_err(Refused::bad_input)?;
        let size = args.resize.as_deref().map(Size::parse);
        let size = size.transpose().map_err(Refused::bad_input)?;
        match (writes, signal, size) {
            (true, Some(_), _) => {
                return Err(Refused::bad_input(
                    "pass either a signal or input; call `send` twice for both",
                ));
            }
            (false, None, None) => {
                return Err(Refused::bad_input(
                    "there is nothing to send: pass text, enter, keys, eof, signal or resize",
                ));
            }
            _ => {}
        }
        let keys = args.keys.iter().map(|key| Key::parse(key));
        let keys = keys
            .collect::<Result<Vec<Key>, _>>()
            .map_err(Refused::bad_input)?;
        let id = call.find(&args.id)?;
        let mut said = Vec::new();
        if let Some(size) = size {
            resize::resize(&call.outlive, &id, size)?;
            let Size { rows, cols } = size;
            said.push(format!(
                "The terminal of {id} has {rows} rows and {cols} columns."
            ));
        }
        if let Some(signal) = signal {
            said.push(signaled(call, &id, signal)?);
        }
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
        let Sent { repeated, notes } = match writes {
            true => send::send(&call.outlive, &id, &what)?,
            false => Sent {
                repeated: None,
                notes: Vec::new(),
            },
        };
        let repeated = repeated == Some(true);
        match (writes, repeated) {
            (true, true) => said.push(format!(
                "Not sent to {id} again: this call was made before."
            )),
            (true, false) => said.push(format!("Sent to {id}.")),
            (false, _) => {}
        }
        let done = said.join(" ");
        let mut text = done.clone();
        let notes = if repeated { Vec::new() } else { notes };
        for note in &notes {
            text.push_str(&format!("\nNote: {note}."));
        }
        let answer = Answer {
            done,
            repeated,
            notes,
        };
        Ok(Reply::new(text, answer))
    }
}

fn signaled(call: &Call, id: &JobId, signal: Signal) -> Result<String, Refused> {
    let Signaled { reached, denied } = signal::signal(&call.outlive, id, SendSignal { signal })?;
    let mut said = format!(
        "{signal} was sent to {} of {id}.",
        count(reached.into(), "process")
    );
    if denied > 0 {
        said.push_str(&format!(
            " {} {} to another user and did not get it.",
            count(denied.into(), "process"),
            agree(denied.into(), "belongs", "belong")
        ));
    }
    Ok(said)
}
