//! The text of posted work, complete by itself.
//!
//! The first line says what it was, how it went, how long it took and why it failed. The rest of the
//! post follows, quoted. For a batch, there is one such block per task, in the order in which the tasks were
//! given.

use super::{quoted, redacted};
use crate::view;
use outlive_core::Timestamp;
use outlive_core::post::Post;
use outlive_core::quote::{self, MAX_WORD};
use outlive_core::words::duration;
use serde_json::{Map, Value};

type Entries = Map<String, Value>;

/// The labels of the usual members of a post, in the order in which they are shown.
const PARTS: [(&str, &str); 7] = [
    ("role", "Role"),
    ("goal", "Goal"),
    ("context", "Context"),
    ("error", "Error"),
    ("summary", "Summary"),
    ("result", "Result"),
    ("output", "Output"),
];
/// Members that the headline and the order of a batch already show.
const SAID: [&str; 4] = ["status", "results", "goals", "task_index"];
/// The names under which the duration may be posted; the first one that is present counts.
const DURATIONS: [&str; 4] = [
    "duration_ms",
    "duration_seconds",
    "total_duration_ms",
    "total_duration_seconds",
];
/// The names of start and end times, as pairs: seconds or milliseconds since 1970.
const SPANS: [(&str, &str); 2] = [
    ("started_at", "ended_at"),
    ("dispatched_at", "completed_at"),
];
/// A goal or an error with more characters is cut in the headline and then shown in full below it.
const SHORT: usize = 80;

/// How a piece of work went, according to the post. No statement does not count as success.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Went {
    Done,
    Failed,
    /// Another word, such as `timeout` or `cancelled`.
    Otherwise(String),
    NotSaid,
}

/// The whole post: known members first, then the rest.
pub fn delegation(post: &Post) -> String {
    let mut text = String::new();
    let subject = format!("Delegation {}", quote::word(&post.id.to_string(), MAX_WORD));
    block(&mut text, &subject, &redacted(post.data.clone()), None, 0);
    let text = text.trim_start();
    match text.split_once('\n') {
        Some((headline, rest)) => format!("{headline}\n{}", quoted(rest)),
        None => text.to_owned(),
    }
}

/// One piece of work, with its parts. `goal` is its goal according to the batch.
fn block(text: &mut String, subject: &str, value: &Value, goal: Option<&Value>, depth: usize) {
    let indent = "  ".repeat(depth);
    let empty = Entries::new();
    let entries = value.as_object().unwrap_or(&empty);
    let goal = entries.get("goal").filter(|goal| !goal.is_null()).or(goal);
    let headline = headline(subject, value, goal);
    text.push_str(&format!("\n{indent}{headline}"));
    if !value.is_object() && !value.is_null() {
        text.push_str(&format!("\n{indent}  {}", plain(value, depth + 1)));
        return;
    }
    let deeper = if depth == 0 { 0 } else { depth + 1 };
    parts(text, entries, goal, deeper);
    let tasks = tasks(entries);
    for (number, (result, goal)) in tasks.iter().enumerate() {
        let subject = format!("Result {} of {}", number + 1, tasks.len());
        block(text, &subject, result, *goal, depth + 1);
    }
}

/// What it was, how it went, how long it took, and why it failed.
fn headline(subject: &str, value: &Value, goal: Option<&Value>) -> String {
    let mut line = subject.to_owned();
    if let Some(goal) = goal {
        line.push_str(&format!(" {}", in_headline(goal)));
    }
    let entries = value.as_object();
    match went(value) {
        _ if value.is_null() => line.push_str(" brought no result"),
        Went::Done => line.push_str(" is done"),
        Went::Failed => line.push_str(" failed"),
        Went::Otherwise(status) => line.push_str(&format!(
            " ended with status {}",
            quote::string(&status, SHORT)
        )),
        Went::NotSaid => line.push_str(" has ended"),
    }
    if let Some(ms) = entries.and_then(took_ms) {
        line.push_str(&format!(" after {}", duration(ms)));
    }
    if went(value) == Went::NotSaid && !value.is_null() {
        line.push_str("; it did not say how");
    }
    let error = entries.and_then(|entries| entries.get("error"));
    let why = error.filter(|error| !error.is_null()).map(in_headline);
    if let Some(why) = why.or_else(|| entries.and_then(tally)) {
        line.push_str(&format!(": {why}"));
    }
    let text_follows = !value.is_object() && !value.is_null();
    line.push(if text_follows { ':' } else { '.' });
    line
}

/// The members that have labels, then all others.
fn parts(text: &mut String, entries: &Entries, goal: Option<&Value>, depth: usize) {
    let indent = "  ".repeat(depth);
    for (key, word) in PARTS {
        let value = match key {
            "goal" => goal,
            _ => entries.get(key).filter(|value| !value.is_null()),
        };
        let is_said = matches!(key, "goal" | "error") && value.is_some_and(is_short);
        if let Some(value) = value.filter(|_| !is_said) {
            text.push_str(&format!("\n{indent}{word}: {}", plain(value, depth)));
        }
    }
    for (key, value) in entries {
        let is_named = PARTS.iter().any(|(known, _)| known == key);
        let is_list = key != "results" || value.is_array();
        let is_said = SAID.contains(&key.as_str()) && is_list || DURATIONS.contains(&key.as_str());
        if !is_named && !is_said && !value.is_null() {
            let (key, value) = timed(key, value).unwrap_or((key, plain(value, depth)));
            text.push_str(&format!("\n{indent}{key}: {value}"));
        }
    }
}

/// The tasks of a batch, in the order in which they were given, each with its goal if the batch has
/// one. A task without a result is included as `null`.
fn tasks(entries: &Entries) -> Vec<(Value, Option<&Value>)> {
    let Some(results) = entries.get("results").and_then(Value::as_array) else {
        return Vec::new();
    };
    let goals = entries.get("goals").and_then(Value::as_array);
    let index = |result: &Value| result.get("task_index").and_then(Value::as_u64);
    let mut tasks: Vec<(u64, Value)> = (0..)
        .zip(results)
        .map(|(place, result)| (index(result).unwrap_or(place), result.clone()))
        .collect();
    let given = goals.map_or(0, Vec::len) as u64;
    let missing = (0..given).filter(|place| tasks.iter().all(|(index, _)| index != place));
    let missing: Vec<_> = missing.map(|place| (place, Value::Null)).collect();
    tasks.extend(missing);
    tasks.sort_by_key(|(index, _)| *index);
    let goal = |index: u64| goals?.get(usize::try_from(index).ok()?);
    tasks
        .into_iter()
        .map(|(index, result)| (result, goal(index)))
        .collect()
}

/// How a piece of work went: according to its own status, else its error, else its parts.
fn went(value: &Value) -> Went {
    let Some(entries) = value.as_object() else {
        return Went::NotSaid;
    };
    let has_error = entries.get("error").is_some_and(|error| !error.is_null());
    let status = entries.get("status").and_then(Value::as_str);
    match status.map(str::trim).filter(|status| !status.is_empty()) {
        Some(status) => match status.to_ascii_lowercase().as_str() {
            "done" | "ok" | "success" | "succeeded" | "completed" | "complete" if !has_error => {
                Went::Done
            }
            "failed" | "failure" | "fail" | "error" | "errored" => Went::Failed,
            _ => Went::Otherwise(status.to_owned()),
        },
        None if has_error => Went::Failed,
        None => {
            let tasks = tasks(entries);
            let all = |went_so: &Went| {
                !tasks.is_empty() && tasks.iter().all(|(task, _)| went(task) == *went_so)
            };
            match () {
                () if all(&Went::Done) => Went::Done,
                () if all(&Went::Failed) => Went::Failed,
                () => Went::NotSaid,
            }
        }
    }
}

/// `2 of 3 done, 1 failed`; empty if it is not a batch.
fn tally(entries: &Entries) -> Option<String> {
    let tasks = tasks(entries);
    let count = |is: fn(&Went) -> bool| tasks.iter().filter(|(task, _)| is(&went(task))).count();
    let mut text = format!(
        "{} of {} done",
        count(|went| *went == Went::Done),
        tasks.len()
    );
    let others = [
        (count(|went| *went == Went::Failed), "failed"),
        (
            count(|went| matches!(went, Went::Otherwise(_))),
            "otherwise",
        ),
        (count(|went| *went == Went::NotSaid), "not said"),
    ];
    for (number, word) in others.iter().filter(|(number, _)| *number > 0) {
        text.push_str(&format!(", {number} {word}"));
    }
    (!tasks.is_empty()).then_some(text)
}

fn took_ms(entries: &Entries) -> Option<u64> {
    let given = DURATIONS.iter().find_map(|key| {
        let factor = if key.ends_with("_ms") { 1.0 } else { 1000.0 };
        milliseconds(entries.get(*key)?, factor)
    });
    let between = || {
        SPANS.iter().find_map(|(began, ended)| {
            let (began, ended) = (moment(entries.get(*began)?)?, moment(entries.get(*ended)?)?);
            ended.checked_sub(began)
        })
    };
    given.or_else(between)
}

fn milliseconds(value: &Value, factor: f64) -> Option<u64> {
    let ms = value.as_f64()? * factor;
    (0.0..1e15).contains(&ms).then_some(ms as u64)
}

/// A time in milliseconds since 1970. A number in seconds has fewer digits: read as milliseconds, that
/// many digits would be the year 5138.
fn moment(value: &Value) -> Option<u64> {
    const LARGEST_SECONDS: f64 = 1e11;
    let factor = match value.as_f64()? < LARGEST_SECONDS {
        true => 1000.0,
        false => 1.0,
    };
    milliseconds(value, factor)
}

/// A duration for people, in the unit that the end of its name says.
fn timed<'a>(key: &'a str, value: &Value) -> Option<(&'a str, String)> {
    if key.ends_with("_at") {
        return Some((key, Timestamp::from_unix_ms(moment(value)?).to_string()));
    }
    let endings = [("_ms", 1.0), ("_seconds", 1000.0)];
    endings.iter().find_map(|(ending, factor)| {
        let name = key.strip_suffix(ending)?;
        Some((name, duration(milliseconds(value, *factor)?)))
    })
}

/// A goal or an error in a headline.
fn in_headline(value: &Value) -> String {
    quote::string(&short(value), SHORT + 1)
}

/// The first line of a text, shortened if it is long.
fn short(value: &Value) -> String {
    let whole = plain(value, 0);
    let first = whole.lines().next().unwrap_or_default().trim();
    match first.char_indices().nth(SHORT) {
        Some((cut, _)) => format!("{}…", &first[..cut]),
        None if first.len() < whole.trim().len() => format!("{first}…"),
        None => first.trim_end_matches('.').to_owned(),
    }
}

/// Whether a headline shows the whole text.
fn is_short(value: &Value) -> bool {
    !short(value).ends_with('…')
}

/// A value as text: strings as lines without escape sequences, anything else as JSON.
fn plain(value: &Value, depth: usize) -> String {
    let indent = format!("\n{}", "  ".repeat(depth + 1));
    match value {
        Value::String(text) => {
            let lines = text.trim_end().split('\n');
            let lines: Vec<_> = lines.map(|line| view::line(line.as_bytes())).collect();
            lines.join(&indent)
        }
        other => other.to_string(),
    }
}
