//! `log`: reads the output of a job as text, without secrets.

use super::{Hints, Verb};
use crate::answer::recognisable;
use crate::call::Call;
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::api::log::{LogPage, LogPosition, Omitted};
use outlive::defaults::{LOG_LINES, MCP_LOG_BUDGET};
use outlive::verbs::log::{self, Part};
use outlive::words::fenced;
use outlive::{Cursor, JobId, LinePattern, Look, Reading, Stream, agree, count, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Log;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The job: its id, the beginning of its id, or its name
    pub id: String,
    /// How many lines (default: 200): the last ones, or from `offset` on
    pub lines: Option<u64>,
    /// The first line to show, counted from 1
    pub offset: Option<u64>,
    /// Show what is new since then: the `next_cursor` of a `log`, or the `cursor` of another reply
    pub cursor: Option<String>,
    /// Show only this stream, of a job with `streams: "split"`. Lines count as in the whole output
    pub stream: Option<Stream>,
    /// Show the last lines that match this regular expression, numbered
    pub grep: Option<String>,
    /// Show what this attempt of a job with `restart` wrote, counted from 1
    pub attempt: Option<u32>,
    /// Show the screen of the terminal as it is now (for a job with `pty`)
    #[serde(default)]
    pub screen: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// How the job ended, where this is all of its output
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(flatten)]
    position: Option<LogPosition>,
    #[serde(flatten)]
    omitted: Omitted,
}

impl Answer {
    fn new(text: String) -> Answer {
        Answer {
            text,
            note: None,
            end: None,
            position: None,
            omitted: Omitted::default(),
        }
    }
}

impl Verb for Log {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "log";
    const TITLE: &'static str = "Read a job's output";
    const DESCRIPTION: &'static str = "\
Read the output (stdout and stderr) of a job, while it runs or later: the last 200 lines, or `lines` lines from \
line `offset` on, or what is new since a `cursor`, or the lines that match `grep`, or the screen of its \
terminal.\n\
The reply has at most 32 KiB of text, without escape sequences and credentials; it says how much of the middle \
was left out. To find something in a long output use `grep`, then `offset`. Do not read again and again to see \
whether the job has ended: `wait` waits for that.";
    const HINTS: Hints = Hints::Reads;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let id = call.find(&args.id)?;
        match (args.screen, &args.grep) {
            (true, _) => screen(call, &id),
            (false, Some(pattern)) => grep(call, &id, &args, pattern),
            (false, None) => text(call, &id, &args),
        }
    }
}

fn screen(call: &Call, id: &JobId) -> Result<Reply<Answer>, Refused> {
    let shown = log::screen(&call.outlive, id)?.text;
    Ok(Reply::new(fenced(&shown)?, Answer::new(shown)))
}

impl Args {
    fn part(&self) -> Result<Part, Refused> {
        let lines = self.lines.unwrap_or(LOG_LINES);
        if let Some(number) = self.attempt {
            if self.cursor.is_some() || self.offset.is_some() {
                return Err(Refused::bad_input(
                    "pass an attempt, an offset or a cursor, not several of them",
                ));
            }
            let lines = (self.grep.is_none()).then_some(lines);
            return Ok(Part::Attempt { number, lines });
        }
        Ok(match (&self.cursor, self.offset) {
            (Some(_), Some(_)) => {
                return Err(Refused::bad_input(
                    "pass either an offset or a cursor, not both",
                ));
            }
            (Some(cursor), None) => Part::After(Cursor::parse(cursor).map_err(|_| {
                Refused::bad_input(format!(
                    "{cursor:?} is not a cursor; pass the next_cursor of an earlier `log`"
                ))
            })?),
            (None, Some(from)) => Part::Lines { from, count: lines },
            (None, None) if self.grep.is_some() => Part::Bytes { from: 0, to: None },
            (None, None) => Part::LastLines(lines),
        })
    }
}

fn grep(call: &Call, id: &JobId, args: &Args, pattern: &str) -> Result<Reply<Answer>, Refused> {
    let regex = LinePattern::new(pattern).map_err(|error| {
        Refused::bad_input(format!(
            "{pattern:?} is not a valid regular expression: {error}"
        ))
    })?;
    let part = log::log_of(&call.outlive, id, &args.part()?, args.stream)?;
    let most = args.lines.unwrap_or(LOG_LINES) as usize;
    let found = part.matching(&regex, most, Reading::Plain)?;
    let mut lines = Vec::new();
    let mut room = MCP_LOG_BUDGET;
    for line in found.iter().rev() {
        let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        let text = format!("{}: {}", line.number, String::from_utf8_lossy(bytes));
        let Some(left) = room.checked_sub(text.len() + 1) else {
            break;
        };
        room = left;
        lines.push(text);
    }
    lines.reverse();
    let omitted = found.len() - lines.len();
    let found_text = lines.join("\n");
    let note = match (found.is_empty(), omitted) {
        (true, _) => format!("No line matches {pattern:?}."),
        (false, 0) => return Ok(Reply::new(fenced(&found_text)?, Answer::new(found_text))),
        (false, _) => {
            let matches = agree(omitted as u64, "match", "matches");
            format!("{omitted} earlier {matches} did not fit.")
        }
    };
    let text = match found.is_empty() {
        true => note.clone(),
        false => format!("{}{note}", fenced(&found_text)?),
    };
    let answer = Answer {
        note: Some(note),
        ..Answer::new(found_text)
    };
    Ok(Reply::new(text, answer))
}

fn text(call: &Call, id: &JobId, args: &Args) -> Result<Reply<Answer>, Refused> {
    let part = log::log_of(&call.outlive, id, &args.part()?, args.stream)?;
    let mut log = part.text(Look::Plain(view::Options {
        budget: MCP_LOG_BUDGET,
        ..view::Options::default()
    }))?;
    let shown = std::mem::take(&mut log.text);
    let LogPage {
        position, omitted, ..
    } = log;
    let not_captured = part.not_captured().map(|why| format!("Note: {why}."));
    let mut text = match (&not_captured, shown.is_empty()) {
        (Some(why), true) => format!("{why}\n"),
        (None, true) if position.total_bytes == 0 => "The job has written nothing.\n".to_owned(),
        (None, true) => "No new output.\n".to_owned(),
        (_, false) => fenced(&shown)?,
    };
    text.push_str(&about(&position, omitted));
    let reply = Reply::new(
        text,
        Answer {
            position: Some(position),
            omitted,
            note: not_captured,
            ..Answer::new(shown)
        },
    );
    match part.end(&call.outlive, false)? {
        Some(job) if omitted.lines == 0 => {
            let mut reply = reply.tells_ends([id.clone()]);
            let end = words::line(&recognisable(call, &job));
            reply.text.push_str(&format!("\n{end}"));
            reply.answer.end = Some(end);
            let receipt = part.receipt(&call.outlive);
            Ok(reply.then(move || receipt.told()))
        }
        _ => Ok(reply),
    }
}

/// Where a part is in the output, and what was left out of it.
fn about(position: &LogPosition, omitted: Omitted) -> String {
    let mut about = match position.total_lines {
        0 => "[no lines".to_owned(),
        total => format!(
            "[lines {} to {} of {total}",
            position.from_line, position.to_line
        ),
    };
    if let Some(from) = omitted.from_line {
        about.push_str(&format!(
            "; {} from line {from} on left out: read them with `offset`",
            count(omitted.lines, "line")
        ));
    }
    if position.dropped_bytes > 0 {
        let dropped = position.dropped_bytes;
        about.push_str(&format!(
            "; {} {} not kept",
            count(dropped, "byte"),
            agree(dropped, "was", "were")
        ));
    }
    about.push_str(&format!("; next cursor {}]", position.next_cursor));
    about
}
