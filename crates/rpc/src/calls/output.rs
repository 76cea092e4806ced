//! `log` in its forms, and the usage of a job again and again.

use super::{Call, Refused};
use outlive::api::log::{LogLine, LogPiece};
use outlive::api::request::{self, ForJob, LogForm};
use outlive::api::rpc::{FollowUsage, LinesPart, LogRead, OutputPart};
use outlive::defaults::{MAX_LOG_LINE, MAX_LOG_TEXT};
use outlive::verbs::log::{self, Log};
use outlive::verbs::show;
use outlive::verbs::usage::Samples;
use outlive::view::{self, ShownText};
use outlive::{Error, Line, LinePattern, Look, Piece, Reading};
use std::io;
use std::time::Duration;

/// So many lines are sent in one part at most.
const LINES_AT_ONCE: usize = 256;

pub fn log(call: &Call) -> Result<(), Refused> {
    let ForJob { job, request } = call.read::<ForJob<request::Log>>()?;
    let request::Log { part, form, stream } = request;
    if form == LogForm::Screen {
        return call.answer(log::screen(&call.outlive, &job)?);
    }
    let log = log::log_of(&call.outlive, &job, &part, stream)?.telling_streams()?;
    let notes: Vec<String> = log.not_captured().into_iter().collect();
    match form {
        LogForm::Page { raw, budget } => {
            let page = log.text(look(raw, budget)).map_err(unreadable)?;
            // What was cut was not read.
            let whole = budget.is_none() && call.speaker.is_some();
            let end = if whole {
                log.end(&call.outlive, false)?
            } else {
                None
            };
            let receipts = end.map(|_| log.receipt(&call.outlive)).into_iter();
            return call.answer_telling(page, notes, receipts.collect());
        }
        LogForm::Lines {
            raw,
            matching,
            last,
        } => {
            let reading = if raw { Reading::Raw } else { Reading::Plain };
            send_lines(call, &log, reading, matching.as_deref(), last)?;
        }
        LogForm::Pieces { follow: true, .. } => {
            return Err(Refused::bad(
                "to follow an output, use the verb follow_output",
            ));
        }
        LogForm::Pieces { raw: true, .. } => send_bytes(call, &log)?,
        LogForm::Pieces { raw: false, .. } => send_text(call, &log)?,
        LogForm::Screen => {}
    }
    let shown = show::show(&call.outlive, &job)?;
    let read = LogRead {
        at: log.range().end,
        state: shown.state,
        exit_code: shown.exit_code,
        id: job,
    };
    call.answer_with(read, notes)
}

fn look(raw: bool, budget: Option<u64>) -> Look {
    let whole = view::Options {
        budget: MAX_LOG_TEXT,
        line_limit: MAX_LOG_LINE,
    };
    match (raw, budget) {
        (true, _) => Look::Raw,
        (false, Some(budget)) => Look::Plain(view::Options {
            budget: usize::try_from(budget).unwrap_or(MAX_LOG_TEXT),
            ..view::Options::default()
        }),
        (false, None) => Look::Plain(whole),
    }
}

fn send_lines(
    call: &Call,
    log: &Log,
    reading: Reading,
    matching: Option<&str>,
    last: Option<u64>,
) -> Result<(), Refused> {
    let Some(matching) = matching else {
        let mut lines = Vec::new();
        for line in log.lines(reading).map_err(unreadable)? {
            lines.push(line.map_err(unreadable)?);
            if lines.len() == LINES_AT_ONCE {
                send_some(call, log, &std::mem::take(&mut lines))?;
            }
        }
        return send_some(call, log, &lines);
    };
    let pattern = LinePattern::new(matching).map_err(|error| Refused::bad(error.to_string()))?;
    if let Some(last) = last {
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        let found = log.matching(&pattern, last, reading).map_err(unreadable)?;
        let mut some = found.chunks(LINES_AT_ONCE);
        return some.try_for_each(|lines| send_some(call, log, lines));
    }
    for found in log.search(&pattern, reading).map_err(unreadable)? {
        let found = found.map_err(unreadable)?;
        let mut some = found.chunks(LINES_AT_ONCE);
        some.try_for_each(|lines| send_some(call, log, lines))?;
        // A search that finds nothing for a long time is cancelled here.
        if call.request.is_over() {
            return Err(Refused::Over);
        }
    }
    Ok(())
}

fn send_some(call: &Call, log: &Log, lines: &[Line]) -> Result<(), Refused> {
    if lines.is_empty() {
        return Ok(());
    }
    let line = |line: &Line| {
        let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        LogLine {
            line: line.number,
            from_byte: line.offset,
            at: log.time_of(line),
            stream: log.stream_at(line.offset),
            text: String::from_utf8_lossy(bytes).into_owned(),
        }
    };
    let lines = lines.iter().map(line).collect();
    Ok(call.request.part_in_time(LinesPart { lines }, None)?)
}

/// Sends the exact bytes.
fn send_bytes(call: &Call, log: &Log) -> Result<(), Refused> {
    for piece in log.pieces()? {
        match piece.map_err(unreadable)? {
            Piece::Bytes { at, bytes, stream } => {
                let part = OutputPart::Bytes { at, stream };
                call.request.part_in_time(part, Some(&bytes))?;
            }
            Piece::Missing(range) => {
                let dropped = [range.start, range.end];
                call.request
                    .part_in_time(OutputPart::Dropped { dropped }, None)?;
            }
        }
    }
    Ok(())
}

/// Sends the text, as a reader wants it.
fn send_text(call: &Call, log: &Log) -> Result<(), Refused> {
    let mut live = log.live(MAX_LOG_LINE).map_err(unreadable)?;
    let pieces = log.pieces_for(&live);
    let mut ready = Vec::new();
    for piece in pieces {
        match piece.map_err(unreadable)? {
            Piece::Bytes { bytes, .. } => {
                live.push(&bytes, &mut |said| ready.push(text(log, said)))
            }
            Piece::Missing(range) => {
                live.missing(range.end, &mut |said| ready.push(text(log, said)));
                ready.push(LogPiece::Dropped {
                    dropped_from: range.start,
                    dropped_to: range.end,
                });
            }
        }
        send_all(call, &mut ready)?;
    }
    live.finish(&mut |said| ready.push(text(log, said)));
    send_all(call, &mut ready)
}

fn text(log: &Log, said: ShownText<'_>) -> LogPiece {
    LogPiece::Text {
        from_byte: said.from_byte,
        stream: log.stream_at(said.from_byte),
        text: said.text.to_owned(),
    }
}

fn send_all(call: &Call, ready: &mut Vec<LogPiece>) -> Result<(), Refused> {
    let mut ready = ready.drain(..);
    Ok(ready.try_for_each(|piece| call.request.part_in_time(piece, None))?)
}

fn unreadable(source: io::Error) -> Error {
    Error::Io {
        what: "cannot read",
        path: "the output".into(),
        source,
    }
}

/// Sends what the job uses, again and again until it ends.
pub fn follow_usage(call: &Call) -> Result<(), Refused> {
    let FollowUsage { job, every } = call.read()?;
    let every = every.unwrap_or(Duration::from_secs(1));
    let mut samples = Samples::of(&call.outlive, &job, every);
    while let Some(sample) = samples.next_sample()? {
        call.request.part_in_time(sample, None)?;
    }
    call.answer(show::show(&call.outlive, &job)?)
}
