//! Jobs as lines and tables.

mod usage;

pub use usage::{sample, usage_table};

use outlive::api::job::{JobState, JobView};
use outlive::api::job::{Told, ToldBy, ToldState};
use outlive::output_sentence;
use outlive::units::show_size;
use outlive::words::{self, cut, one_line};
use outlive::{Job, LOCAL, Notify, Pattern, count, visible};
use std::iter;

/// One line that says how a job is or how it ended.
pub fn line(job: &Job) -> String {
    visible(&format!("{} {}", job.id, words::state(job))).into_owned()
}

/// A table of jobs; empty text for none.
pub fn table(jobs: &[Job]) -> String {
    lines_of_table(jobs).concat()
}

/// The same, each job with the end of its output below it.
pub fn table_with_previews(views: &[JobView]) -> String {
    let jobs: Vec<Job> = views.iter().map(|view| view.job.clone()).collect();
    let mut lines = lines_of_table(&jobs).into_iter();
    let mut text = lines.next().unwrap_or_default();
    for (line, view) in lines.zip(views) {
        text.push_str(&line);
        for line in view.preview.lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

/// The heading and a line for each job; nothing for no job.
fn lines_of_table(jobs: &[Job]) -> Vec<String> {
    if jobs.is_empty() {
        return Vec::new();
    }
    // Most homes have jobs of this machine only.
    let has_places = jobs.iter().any(|job| job.place != LOCAL);
    let mut heads = vec!["ID", "STATE", "TIME", "OUTPUT", "NAME"];
    heads.extend(has_places.then_some("PLACE"));
    heads.push("COMMAND");
    let rows = jobs.iter().map(|job| {
        let mut row = vec![
            job.id.to_string(),
            cut(&one_line(&words::short_state(job)), 48),
            words::duration(job),
            show_size(job.output.bytes),
            job.name
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string),
        ];
        row.extend(has_places.then(|| cut(&one_line(&job.place), 24)));
        row.push(cut(&one_line(&job.command), 60));
        row
    });
    aligned(&heads, rows.collect())
}

/// Rows below their heads. The last column is not padded.
pub fn aligned(heads: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let last = heads.len() - 1;
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max()
    };
    let widths: Vec<usize> = (0..last).filter_map(width).collect();
    let head = line_of_table(heads, &widths);
    let rows = rows.iter().map(|row| line_of_table(row, &widths));
    [head].into_iter().chain(rows).collect()
}

fn line_of_table(cells: &[impl AsRef<str>], widths: &[usize]) -> String {
    let length: usize = cells.iter().map(|cell| cell.as_ref().len()).sum();
    let padding: usize = widths.iter().map(|width| width + 2).sum();
    let mut line = String::with_capacity(length + padding + 1);
    for (cell, width) in cells.iter().zip(widths) {
        let cell = cell.as_ref();
        line.push_str(cell);
        line.extend(iter::repeat_n(' ', width + 2 - cell.chars().count()));
    }
    line.extend(cells.last().map(AsRef::as_ref));
    line.push('\n');
    line
}

/// Everything about a job, for a person.
pub fn details(view: &JobView) -> String {
    let JobView { job, preview } = view;
    let mut rows = vec![
        ("job", job.id.to_string()),
        ("command", job.command.clone()),
        ("state", words::state(job)),
        ("cwd", job.cwd.clone()),
    ];
    let mut add = |key, value: Option<String>| rows.extend(value.map(|value| (key, value)));
    add(
        "place",
        Some(job.place.clone()).filter(|place| place != LOCAL),
    );
    add("heard at", job.heard_at.map(|at| at.to_string()));
    add("name", job.name.as_ref().map(ToString::to_string));
    add("session", job.session.as_ref().map(ToString::to_string));
    add("task", job.task.as_ref().map(ToString::to_string));
    for (key, value) in asked(job) {
        add(key, value);
    }
    // After the end, another process may have the number.
    let pid = job.pid.filter(|_| !job.has_ended());
    add("pid", pid.map(|pid| pid.to_string()));
    add("attempts", words::attempt(job));
    let has_run = job.pid.is_some();
    let begun = if has_run { "started" } else { "accepted" };
    add(begun, job.started_at.map(|at| at.to_string()));
    let ready = |ready| if ready { "yes" } else { "not yet" };
    add(
        "ready",
        match (job.ready, job.has_ended()) {
            (Some(false), true) => Some("it never was".to_owned()),
            (Some(is), _) => Some(ready(is).to_owned()),
            (None, _) => None,
        },
    );
    let of_watch = |lines| format!("{} reported", count(lines, "line"));
    add("matches", job.matches.map(of_watch));
    add("ended", job.ended_at.map(|at| at.to_string()));
    add("asked by", job.ended_by_detail.clone());
    add("limits", words::limits(job));
    let used = if job.has_ended() { "used" } else { "uses" };
    add(used, job.usage.as_ref().map(words::usage));
    let ended = job.attempts.iter().filter(|_| job.attempts.len() > 1);
    for ended in ended.map(words::ended_attempt) {
        add("attempt", ended);
    }
    for bell in &job.doorbells {
        add("doorbell", Some(words::doorbell(bell)));
    }
    rows.push((
        "output",
        match &job.adopted {
            Some(found) => output_sentence(found),
            None => output_row(job),
        },
    ));
    let mut text: String = rows
        .iter()
        .map(|(key, value)| {
            // A command with several lines is shown in several lines.
            let value = visible(value).replace('\n', "\n          ");
            format!("{key:9} {value}\n")
        })
        .collect();
    if !preview.is_empty() {
        text.push('\n');
        text.push_str(preview);
    }
    text
}

/// How much the job has written, and where that is.
fn output_row(job: &Job) -> String {
    let output = &job.output;
    let dropped = words::dropped(output);
    let missing = match output.complete {
        true => "",
        false => ", the newest part may be missing",
    };
    let size = format!("{}{dropped}{missing}", show_size(output.bytes));
    let place = &job.place;
    match (&output.path, &output.path_there) {
        (Some(path), _) => format!("{size}, in {}", path.as_path().display()),
        // How much it is now was not asked.
        (None, Some(path)) if job.state == JobState::Unreachable => {
            format!("on {place}, in {}", path.as_path().display())
        }
        (None, Some(path)) => format!("{size}, on {place}, in {}", path.as_path().display()),
        (None, None) => size,
    }
}

/// What a job was asked for, and whether its end was told, where there is something to say.
fn asked(job: &Job) -> [(&'static str, Option<String>); 5] {
    let details = &job.details;
    let labels = labels(job).replace('\n', ", ");
    [
        ("labels", Some(labels).filter(|labels| !labels.is_empty())),
        ("timeout", details.timeout_ms.map(words::span)),
        ("notify", notify(job)),
        ("watch", details.watch.as_ref().map(|_| watch(job))),
        ("told", details.told.as_ref().map(told)),
    ]
}

/// The labels of a job, one per line.
pub fn labels(job: &Job) -> String {
    let pairs = job.details.labels.iter();
    let pairs = pairs.map(|(key, value)| visible(&format!("{key}={value}")).into_owned());
    pairs.collect::<Vec<_>>().join("\n")
}

/// What a job is watched for, one pattern per line, and how long.
pub fn watch(job: &Job) -> String {
    let Some(watch) = &job.details.watch else {
        return "nothing is watched for".to_owned();
    };
    let shown = watch.patterns.iter().map(|pattern| {
        let (kind, source) = match pattern {
            Pattern::Text(source) => ("text", source),
            Pattern::Regex(source) => ("regex", source),
            Pattern::NotText(source) => ("not text", source),
            Pattern::NotRegex(source) => ("not regex", source),
        };
        visible(&format!("{kind} {source:?}")).into_owned()
    });
    let limit = watch
        .limit
        .map(|limit| format!("at most {}", count(limit, "match")));
    shown.chain(limit).collect::<Vec<_>>().join("\n")
}

/// Which ends are reported, unless all are.
fn notify(job: &Job) -> Option<String> {
    match job.details.notify {
        Notify::End => None,
        Notify::Failure => Some("only of a failure".to_owned()),
        Notify::Never => Some("never".to_owned()),
    }
}

fn told(told: &Told) -> String {
    let how = match (told.state, told.by) {
        (ToldState::Waiting, _) => "not yet; it waits in the inbox",
        (ToldState::Claimed, _) => "not yet; it is being delivered",
        (ToldState::Delivered, _) => "delivered, not acknowledged",
        (ToldState::Handed, _) => "handed to an agent that has not shown that it read it",
        (ToldState::Dropped, _) => "never; it was dropped",
        (ToldState::Told, Some(ToldBy::Wait)) => "yes, by waiting",
        (ToldState::Told, Some(ToldBy::Log)) => "yes, with the whole output",
        (ToldState::Told, Some(ToldBy::Asked)) => "yes, in an answer",
        (ToldState::Told, Some(ToldBy::Inbox) | None) => "yes, through the inbox",
    };
    match told.at {
        Some(at) => format!("{how} ({at})"),
        None => how.to_owned(),
    }
}
