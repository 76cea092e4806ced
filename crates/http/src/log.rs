//! `POST /v1/log`: output as text, in the forms of the contract. A page and a screen are one JSON object; lines and
//! pieces are one object on each line, written as they are found.

use crate::body::{self, Writer, streamed};
use crate::failure::Refused;
use crate::output::{Copy, Cut, Form, follow};
use crate::server::{Desk, json, on_a_thread};
use crate::visit::Visit;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use outlive::verbs::log::{self, Log};
use outlive::{Error, JobId, Line, LinePattern, Look, Reading, view};
use outlive_api::failure::ErrorCode;
use outlive_api::log::LogLine;
use outlive_api::request::{self, ForJob, LogForm};
use serde::Serialize;
use std::io;
use std::sync::Arc;

/// The most bytes of a text that is one answer. Longer parts come line by line or as raw output.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// The most bytes that are shown of a line.
const MAX_LINE: usize = 256 * 1024;

/// JSON objects, one per line.
pub const LINES: &str = "application/x-ndjson";

pub async fn log(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    request: Request,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    let ForJob::<request::Log> { job, request } = body::read(&head.headers, body).await?;
    let turn = desk.streams.clone().acquire_owned().await.ok();
    let asking = visit.clone();
    let found = on_a_thread(move || {
        let id = asking.find(job.as_str())?;
        match is_stream(&request.form) {
            false => whole(&asking, &id, &request).map(Found::Whole),
            true => Read::new(&asking, &id, request).map(Found::Stream),
        }
    });
    let Read { log, how } = match found.await? {
        Found::Whole(answer) => return Ok(answer),
        Found::Stream(read) => read,
    };
    let (writer, body) = streamed();
    match how {
        How::Pieces {
            form,
            follows: true,
        } => {
            let copy = Copy::new(form, writer);
            drop(tokio::spawn(follow(desk, visit, log, copy)));
        }
        how => {
            let work = move || {
                let _turn = turn;
                write(&log, how, writer);
            };
            drop(tokio::task::spawn_blocking(work));
        }
    }
    Ok(([(CONTENT_TYPE, LINES)], body).into_response())
}

enum Found {
    Whole(Response),
    Stream(Read),
}

fn is_stream(form: &LogForm) -> bool {
    matches!(form, LogForm::Lines { .. } | LogForm::Pieces { .. })
}

/// An answer of one JSON object.
fn whole(visit: &Visit, id: &JobId, asked: &request::Log) -> Result<Response, Refused> {
    let outlive = &visit.outlive;
    let LogForm::Page { raw, budget } = asked.form else {
        return encode(&log::screen(outlive, id)?);
    };
    let log = log::log_of(outlive, id, &asked.part, asked.stream)?;
    refuse_raw(&log, raw)?;
    let budget = budget.map_or(MAX_TEXT, |budget| {
        usize::try_from(budget).unwrap_or(MAX_TEXT)
    });
    let look = match raw {
        true => Look::Raw,
        false => Look::Plain(view::Options {
            budget: budget.min(MAX_TEXT),
            line_limit: MAX_LINE,
        }),
    };
    let length = log.range().end - log.range().start;
    if raw && length > MAX_TEXT as u64 {
        let text =
            format!("the part has {length} bytes; read it from /v1/jobs/{id}/output instead");
        return Err(Refused::bad_input(text));
    }
    let page = log.text(look);
    encode(&page.map_err(|error| Refused::io("the output cannot be read", &error))?)
}

fn encode(answer: &impl Serialize) -> Result<Response, Refused> {
    let bytes = serde_json::to_vec(answer);
    let bytes = bytes.map_err(|error| Refused::new(ErrorCode::Failed, error.to_string()))?;
    Ok(json(bytes))
}

/// Escape sequences may stand inside of a secret, so it would not be recognised.
fn refuse_raw(log: &Log, raw: bool) -> Result<(), Refused> {
    match raw && log.hides_secrets() {
        true => Err(Error::SecretsHidden.into()),
        false => Ok(()),
    }
}

/// An output that is about to be written.
struct Read {
    log: Log,
    how: How,
}

enum How {
    Lines(Reading),
    Matches(Reading, LinePattern, Option<u64>),
    Pieces { form: Form, follows: bool },
}

impl Read {
    fn new(visit: &Visit, id: &JobId, asked: request::Log) -> Result<Read, Refused> {
        let log = log::log_of(&visit.outlive, id, &asked.part, asked.stream)?.telling_streams()?;
        let raw = match &asked.form {
            LogForm::Lines { raw, .. } | LogForm::Pieces { raw, .. } => *raw,
            LogForm::Page { .. } | LogForm::Screen => false,
        };
        refuse_raw(&log, raw)?;
        let reading = match raw {
            true => Reading::Raw,
            false => Reading::Plain,
        };
        let how = match asked.form {
            LogForm::Lines {
                matching: Some(source),
                last,
                ..
            } => {
                let pattern = LinePattern::new(&source).map_err(|error| Error::BadPattern {
                    pattern: source,
                    reason: error.to_string(),
                })?;
                How::Matches(reading, pattern, last)
            }
            LogForm::Pieces { raw, follow } => How::Pieces {
                form: match raw {
                    true => Form::Pieces,
                    false => {
                        let live = log.live(MAX_LINE);
                        let live =
                            live.map_err(|error| Refused::io("the output cannot be read", &error))?;
                        Form::TextPieces(Box::new(live))
                    }
                },
                follows: follow,
            },
            LogForm::Lines { .. } | LogForm::Page { .. } | LogForm::Screen => How::Lines(reading),
        };
        Ok(Read { log, how })
    }
}

/// Writes until all is written, nobody reads, or the output cannot be read.
fn write(log: &Log, how: How, writer: Writer) {
    let written = match how {
        How::Lines(reading) => write_lines(log, reading, &writer),
        How::Matches(reading, pattern, last) => {
            write_matches(log, reading, &pattern, last, &writer)
        }
        How::Pieces { form, .. } => {
            let mut copy = Copy::new(form, writer.clone());
            let copied = copy.part(log).and_then(|()| copy.finish());
            copied.map_err(|Cut| io::ErrorKind::UnexpectedEof.into())
        }
    };
    if written.is_err() {
        writer.cut();
    }
}

/// So many bytes are sent at once, if they are there.
const AT_ONCE: usize = 32 * 1024;

fn write_lines(log: &Log, reading: Reading, writer: &Writer) -> io::Result<()> {
    let mut text = Vec::new();
    for line in log.lines(reading)? {
        encode_line(log, &line?, &mut text)?;
        if text.len() >= AT_ONCE && !send(writer, &mut text) {
            return Ok(());
        }
    }
    send(writer, &mut text);
    Ok(())
}

fn write_matches(
    log: &Log,
    reading: Reading,
    pattern: &LinePattern,
    last: Option<u64>,
    writer: &Writer,
) -> io::Result<()> {
    let mut text = Vec::new();
    if let Some(most) = last {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        for line in log.matching(pattern, most, reading)? {
            encode_line(log, &line, &mut text)?;
        }
        send(writer, &mut text);
        return Ok(());
    }
    for found in log.search(pattern, reading)? {
        for line in found? {
            encode_line(log, &line, &mut text)?;
        }
        // Hits are sent as they are found: the search may take long.
        if !send(writer, &mut text) {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns whether anybody still reads.
fn send(writer: &Writer, text: &mut Vec<u8>) -> bool {
    text.is_empty() || writer.write(std::mem::take(text)).is_ok()
}

fn encode_line(log: &Log, line: &Line, into: &mut Vec<u8>) -> io::Result<()> {
    let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
    let shown = LogLine {
        line: line.number,
        from_byte: line.offset,
        at: log.time_of(line),
        stream: log.stream_at(line.offset),
        text: String::from_utf8_lossy(bytes).into_owned(),
    };
    serde_json::to_writer(&mut *into, &shown)?;
    into.push(b'\n');
    Ok(())
}
