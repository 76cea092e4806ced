//! `process`: the same verbs under the names that many harnesses teach their models (`--compat`).

use super::{Hints, Verb, jobs, log, send, show, stop, wait};
use crate::call::Call;
use crate::reply::{Refused, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub struct Process;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to do
    action: Action,
    /// The id of the job; every action except list needs it
    session_id: Option<String>,
    /// Text to write, for write and submit
    data: Option<String>,
    /// How long to wait at most, in seconds, for wait
    timeout: Option<f64>,
    /// How many lines to skip, for log (default: show the last ones)
    offset: Option<u64>,
    /// How many lines, for log (default: 200)
    limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Poll,
    Log,
    Wait,
    Kill,
    Write,
    Submit,
    Close,
}

/// The answer of the tool for the same verb.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Answer(Map<String, Value>);

impl Verb for Process {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "process";
    const TITLE: &'static str = "Manage background processes";
    const DESCRIPTION: &'static str = "\
Manage the jobs that `run` started; `session_id` is the id of a job.\n\
Actions: list (all jobs of this session), poll (show one job now), log (its output: `offset`, `limit`), wait \
(until it has ended, at most `timeout` seconds; the job continues), kill (stop it with all its processes), \
write (`data` to its input, as it is), submit (`data` and Enter), close (end its input).\n\
Do not poll: wait waits for the end of a job. write, submit and close are for \
jobs started with `stdin: true` or `pty: true`.";
    const HINTS: Hints = Hints::Acts;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        if let Action::List = args.action {
            return renamed::<jobs::Jobs>(call, jobs::Args::default());
        }
        let id = args
            .session_id
            .ok_or_else(|| Refused::bad_input("this action needs session_id, the id of a job"))?;
        let send = |text: Option<String>, enter: bool, eof: bool| {
            let args = send::Args {
                id: id.clone(),
                text,
                enter,
                eof,
                ..send::Args::default()
            };
            renamed::<send::Send>(call, args)
        };
        match args.action {
            Action::List | Action::Poll => renamed::<show::Show>(call, show::Args { id }),
            Action::Log => {
                let args = log::Args {
                    id,
                    lines: args.limit,
                    offset: args.offset.map(|lines| lines.saturating_add(1)),
                    ..log::Args::default()
                };
                renamed::<log::Log>(call, args)
            }
            Action::Wait => {
                let args = wait::Args {
                    ids: vec![id],
                    timeout_seconds: args.timeout,
                    ..wait::Args::default()
                };
                renamed::<wait::Wait>(call, args)
            }
            Action::Kill => {
                let args = stop::Args {
                    ids: vec![id],
                    grace_seconds: None,
                };
                renamed::<stop::Stop>(call, args)
            }
            Action::Write => send(args.data, false, false),
            Action::Submit => send(args.data, true, false),
            Action::Close => send(None, false, true),
        }
    }
}

fn renamed<V: Verb>(call: &Call, args: V::Args) -> Result<Reply<Answer>, Refused> {
    let said = V::call(call, args)?.said(V::DETAIL)?;
    Ok(Reply {
        text: said.text,
        answer: Answer(said.content),
        told: said.told,
    })
}
