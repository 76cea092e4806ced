//! The text of an event for an agent: complete by itself, without secrets, and with what the job chose quoted
//! (`outlive_core::quote`), so that no job can pose as us.

mod delegation;
mod place;

use super::source::{Item, ItemContent, Origin, Source};
use crate::home::outlive::Outlive;
use crate::output::{Look, Output};
use crate::redact::redact;
use crate::view;
use crate::words::cut;
use delegation::delegation;
use outlive_api::event::EventKind;
use outlive_api::event_data;
use outlive_core::event::{Matched, Moment};
use outlive_core::outcome::End;
use outlive_core::quote::{self, MAX_WORD};
use outlive_core::units::show_size;
use outlive_core::words::{self, duration};
use outlive_core::{Event, Millis, Spec, State};
use serde::Serialize;
use serde_json::{Value, json};
use std::ops::Range;

/// The most characters of output in a notice.
const MAX_EXCERPT_CHARS: usize = 2000;
/// The part of it from the beginning, which often says what was built and with which options.
const HEAD_CHARS: usize = 500;
/// Stands between the beginning and the end.
const SEPARATOR: &str = "\n[…]\n";

/// The data of the event, for programs.
pub fn data(source: &Source, item: &Item<'_>) -> Value {
    let value = match item.what {
        ItemContent::Post(post) => post.data.clone(),
        ItemContent::Event(event) => event_data(source, event, item.at),
    };
    redacted(value)
}

/// The data and the text of a job's end, for any reader.
pub fn end(outlive: &Outlive, spec: &Spec, state: &State, end: &End) -> (Value, String) {
    let text = ended(outlive, spec, state, end);
    (redacted(json!(words::end_data(spec, end))), finished(&text))
}

fn event_data(source: &Source, event: &Event, at: Moment) -> Value {
    let Origin::Job { spec, state, .. } = &source.origin else {
        return json!({});
    };
    match event {
        Event::Ended(end) => json!(words::end_data(spec, end)),
        Event::AttemptEnded(ended) => {
            json!(words::restarted_data(spec, ended, at))
        }
        Event::LingeringEnded(ended) => json!(words::lingering_data(spec, state, ended)),
        Event::Matched(told) => of_job(
            spec,
            event_data::Matched {
                line: told.last.text.clone(),
                offset: told.last.offset,
                pattern: told.last.pattern,
                pattern_text: pattern_text(spec, told),
                count: told.count,
                lines: matched_lines(told),
                looked_back: told.looked_back,
            },
        ),
        Event::WatchDisabled {
            matches, untold, ..
        } => of_job(
            spec,
            event_data::WatchDisabled {
                matches: *matches,
                untold: *untold,
            },
        ),
        Event::WatchOverflow { silence_ms, .. } => of_job(
            spec,
            event_data::WatchOverflow {
                silence_ms: Millis(*silence_ms),
            },
        ),
        Event::WatchResumed { silenced, .. } => of_job(
            spec,
            event_data::WatchResumed {
                silenced: *silenced,
            },
        ),
        Event::Quiet { after_ms, .. } => of_job(
            spec,
            event_data::Quiet {
                after_ms: Millis(*after_ms),
            },
        ),
        Event::AwaitingInput { awaiting, .. } => of_job(
            spec,
            event_data::AwaitingInput {
                input_kind: *awaiting,
            },
        ),
        _ => of_job(spec, event_data::Ready {}),
    }
}

fn of_job<D: Serialize>(spec: &Spec, data: D) -> Value {
    json!(words::of_job(spec, data))
}

/// Redacts every text in a value, by its shape and by the name beside it.
fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(values) => Value::Array(values.into_iter().map(redacted).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let value = redacted(beside(&key, value));
                    (key, value)
                })
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Redacts a value if its name says that it is a secret.
fn beside(key: &str, value: Value) -> Value {
    if !value.is_string() {
        return value;
    }
    let name = format!("{}: ", Value::from(key));
    let entry = format!("{name}{value}");
    let found = redact(&entry);
    let rest = found.strip_prefix(&name).map(serde_json::from_str);
    rest.and_then(Result::ok).unwrap_or(value)
}

/// The text of the event.
pub fn text(outlive: &Outlive, source: &Source, item: &Item<'_>) -> String {
    let text = match (item.what, &source.origin) {
        (ItemContent::Post(post), _) => match post.kind {
            EventKind::Unreachable => place::unreachable(post, outlive.reader()),
            EventKind::Reached => place::reached(post, outlive.reader()),
            _ => delegation(post),
        },
        (ItemContent::Event(event), Origin::Job { spec, state, .. }) => {
            event_text(outlive, spec, state, event, item.at)
        }
        (ItemContent::Event(_), Origin::Post(_)) => String::new(),
    };
    finished(&text)
}

/// The text without the secrets that its sentences may name. What has several lines was redacted before it was quoted.
/// So each line is redacted for itself: a private key over several lines would take the marks of quoted lines with it.
fn finished(text: &str) -> String {
    let text = quote::visible(text);
    let lines: Vec<_> = text.split('\n').map(redact).collect();
    lines.join("\n")
}

/// Text of the job, quoted on lines of its own. Secrets are removed first: quoted, one may not be recognised.
fn quoted(text: &str) -> String {
    quote::block(&redact(text))
}

/// The command, quoted. A long one, such as a script in a here-document, is cut. Secrets are removed first,
/// because half of a secret may not be recognised.
fn command_lines(spec: &Spec) -> String {
    const MAX_COMMAND: usize = 500;
    let shown = cut(redact(&spec.command).trim_end(), MAX_COMMAND);
    format!("Command:\n{}", quote::block(&shown))
}

fn event_text(outlive: &Outlive, spec: &Spec, state: &State, event: &Event, at: Moment) -> String {
    let (id, reader) = (&spec.id, outlive.reader());
    let job = words::title(spec);
    let command = command_lines(spec);
    match event {
        Event::Ended(end) => ended(outlive, spec, state, end),
        Event::AttemptEnded(ended) => format!(
            "{}\n{command}\nSee its output: {}",
            words::restarted_sentence(spec, ended, at),
            reader.log_attempt(id, ended.number)
        ),
        Event::LingeringEnded(ended) => {
            let said = words::lingering_sentence(spec, state, ended);
            let before = state.end().map_or(0, |end| end.output_bytes);
            let more = match ended.output_bytes > before {
                true => format!(
                    "\nSee what was written since: {}",
                    reader.log_from(id, before)
                ),
                false => String::new(),
            };
            format!("{said}\n{command}{more}")
        }
        Event::Matched(told) => format!(
            "{job} {}\n{command}\nSee around it: {}",
            matched(told),
            reader.log(id)
        ),
        Event::WatchDisabled {
            matches, untold, ..
        } => format!(
            "{job} matched its watch too often ({}, {untold} of them not told), so the watch is off. You will be told when the job ends.\n{command}\nSee the matches: {}",
            words::count(*matches, "line"),
            reader.search(id)
        ),
        Event::WatchOverflow { silence_ms, .. } => format!(
            "Watches of this session's jobs matched too much at once, last {job}. They are silent for {}; what matches meanwhile is counted.\n{command}",
            duration(*silence_ms)
        ),
        Event::WatchResumed { silenced, .. } => format!(
            "Watches are told again. {} {} not told of meanwhile.\nSee those of one job: {}",
            words::count(*silenced, "match"),
            words::agree(*silenced, "was", "were"),
            reader.search(&"ID")
        ),
        Event::Ready => format!("{job} is ready.\n{command}"),
        Event::Quiet { after_ms, .. } => format!(
            "{job} has written nothing for {}. It still runs; it may be stuck, or at work.\n{command}\n{}Look closer: {}",
            duration(*after_ms),
            excerpt(outlive, spec, state),
            reader.show(id)
        ),
        Event::AwaitingInput { awaiting, .. } => format!(
            "{job} waits for {}.\n{command}\n{}Answer it: {}",
            words::awaited(*awaiting),
            excerpt(outlive, spec, state),
            reader.answer(id)
        ),
        _ => job,
    }
}

/// The pattern that the last line matched. An earlier keeper wrote only its number, and never changed the watch.
fn pattern_text(spec: &Spec, told: &Matched) -> Option<String> {
    let by_number = || {
        let patterns = &spec.watch.as_ref()?.patterns;
        Some(patterns.get(told.last.pattern?)?.source().to_owned())
    };
    told.pattern.clone().or_else(by_number)
}

/// The newest lines, the oldest first.
fn matched_lines(told: &Matched) -> Vec<String> {
    match told.lines.is_empty() {
        true => vec![told.last.text.clone()],
        false => told.lines.clone(),
    }
}

fn matched(told: &Matched) -> String {
    let lines = matched_lines(told);
    let shown = match lines.as_slice() {
        // A single line is shown in its full length.
        [_] => quoted(told.last.text.trim_end()),
        lines => quoted(lines.join("\n").trim_end()),
    };
    let before = match told.looked_back {
        true => "had printed",
        false => "printed",
    };
    match (told.count, lines.len() as u64) {
        (0 | 1, _) => format!("{before} a line that was watched for:\n{shown}"),
        (count, all) if count == all => {
            format!("{before} {count} lines that were watched for:\n{shown}")
        }
        (count, 1) => {
            format!("{before} {count} lines that were watched for, the last of them:\n{shown}")
        }
        (count, some) => format!(
            "{before} {count} lines that were watched for, the last {some} of them:\n{shown}"
        ),
    }
}

fn ended(outlive: &Outlive, spec: &Spec, state: &State, end: &End) -> String {
    let mut text = words::end_sentence(spec, end, outlive.reader());
    if spec.restart.is_some() && state.attempt() > 1 {
        text.push_str(&format!(" It was attempt {}.", state.attempt()));
    }
    if let (Some(sign), None) = (&spec.ready, state.signs.ready) {
        let sign = quote::word(&redact(&sign.to_string()), MAX_WORD);
        text.push_str(&format!(" It was never ready ({sign})."));
    }
    text.push_str(&format!("\n{}\n", command_lines(spec)));
    text.push_str(&excerpt(outlive, spec, state));
    if end.output_bytes > 0 {
        text.push_str(&format!("See more: {}", outlive.reader().log(&spec.id)));
    }
    text.trim_end().to_owned()
}

/// The output, or its beginning and its end in whole lines, with a heading; empty if there is none.
fn excerpt(outlive: &Outlive, spec: &Spec, state: &State) -> String {
    let Some(output) = Output::glimpse(outlive, spec, state) else {
        return String::new();
    };
    let read = |range: Range<u64>| {
        let look = Look::Plain(view::Options {
            budget: 16 * MAX_EXCERPT_CHARS,
            ..view::Options::default()
        });
        output.rendered(range, look).ok()
    };
    // Escape sequences take space too, and a character has up to four bytes.
    let from = output.size.saturating_sub(8 * MAX_EXCERPT_CHARS as u64);
    let Some(text) = read(from..output.size) else {
        return String::new();
    };
    let text = match from {
        0 => text.as_str(),
        _ => without_cut_line(&text),
    };
    // Redact before cutting: half a secret may not be recognised.
    let text = redact(text.trim_end());
    if text.is_empty() {
        return match state.end() {
            // The sentence about the end says where its output went.
            Some(_) if spec.adopted.is_some() => String::new(),
            Some(end) if end.output_complete => "It wrote nothing.\n".to_owned(),
            // The last output may be missing.
            Some(_) | None => String::new(),
        };
    }
    if from == 0 && text.chars().count() <= MAX_EXCERPT_CHARS {
        return format!("Output:\n{}\n", quote::block(&text));
    }
    let head = match from {
        0 => first_lines(&text, HEAD_CHARS).to_owned(),
        _ => {
            let head = read(0..8 * HEAD_CHARS as u64).unwrap_or_default();
            let whole = head.rsplit_once('\n').map_or("", |(whole, _)| whole);
            first_lines(&redact(whole), HEAD_CHARS).to_owned()
        }
    };
    let tail = last_lines(&text, MAX_EXCERPT_CHARS - HEAD_CHARS - SEPARATOR.len());
    let size = show_size(output.size);
    let tail = quote::block(tail);
    match head.trim().is_empty() {
        true => format!("Last output (of {size}):\n{tail}\n"),
        false => {
            let head = quote::block(&head);
            format!("Output (beginning and end of {size}):\n{head}{SEPARATOR}{tail}\n")
        }
    }
}

/// The first whole lines that fit; empty if the first one does not fit.
fn first_lines(text: &str, most: usize) -> &str {
    let cut = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    match cut == text.len() {
        true => text,
        false => text[..cut].rsplit_once('\n').map_or("", |(whole, _)| whole),
    }
}

/// Drops the first line, which may be cut, even inside an escape sequence, unless there is no other
/// line.
fn without_cut_line(text: &str) -> &str {
    match text.split_once('\n') {
        Some((_, rest)) if !rest.trim().is_empty() => rest,
        _ => text,
    }
}

/// The last lines that fit, or the end of the last line if it alone does not fit.
fn last_lines(text: &str, most: usize) -> &str {
    let Some((cut, _)) = text.char_indices().rev().nth(most.saturating_sub(1)) else {
        return text;
    };
    if cut == 0 || text[..cut].ends_with('\n') {
        return &text[cut..];
    }
    match text[cut..].find('\n') {
        Some(end) => &text[cut + end + 1..],
        None => &text[cut..],
    }
}

#[cfg(test)]
mod tests;
