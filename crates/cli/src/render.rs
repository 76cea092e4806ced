//! Jobs as lines and tables.

use outlive::units::show_size;
use outlive::{InputKind, Job, JobOutput, Rung, WaitingFor, agree, count, visible};
use serde::Serialize;

/// Several jobs in JSON.
#[derive(Serialize)]
pub struct Jobs<'a> {
    pub jobs: &'a [Job],
}

/// One line about how a job is or ended.
pub fn line(job: &Job) -> String {
    let lingering = lingering(job);
    let after = if job.duration_ms.is_some() {
        if job.has_ended() { " after " } else { " for " }
    } else {
        ""
    };
    let duration = job
        .duration_ms
        .map(|_| job.duration_text())
        .unwrap_or_default();
    let waiting = waiting(job);
    let lock = match &job.waiting_for {
        Some(on) => format!(" {}", lock(on)),
        None => String::new(),
    };
    let line = format!(
        "{} {}{lock}{after}{duration}{lingering}{waiting}",
        job.id,
        job.outcome_text()
    );
    visible(&line).into_owned()
}

/// What runs on after the end, and what is not known because the keeper does not answer.
fn lingering(job: &Job) -> String {
    match job.lingering {
        _ if job.keeper_silent => ", its keeper does not answer".to_owned(),
        None | Some(0) => String::new(),
        Some(count) => format!(", {count} lingering"),
    }
}

/// `for the lock build, which 1pzrj72dak has`
fn lock(on: &WaitingFor) -> String {
    match &on.holder {
        Some(holder) => format!("for the lock {}, which {holder} has", on.lock),
        None => format!("for the lock {}", on.lock),
    }
}

fn waiting(job: &Job) -> &'static str {
    match job.input_kind {
        None => "",
        Some(InputKind::Line) => ", waits for a line",
        Some(InputKind::Password) => ", waits for a password",
        Some(InputKind::Keys) => ", waits for keys",
        Some(InputKind::Data) => ", waits for input",
    }
}

/// A table of jobs; empty text for none.
pub fn table(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let mut rows = vec![["ID", "STATE", "TIME", "OUTPUT", "NAME", "COMMAND"].map(str::to_owned)];
    rows.extend(jobs.iter().map(|job| {
        [
            job.id.to_string(),
            short_state(job),
            job.duration_text(),
            show_size(job.output.bytes),
            job.name
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string),
            cut(&one_line(&job.command), 60),
        ]
    }));
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            format!("{}  {}\n", cells.join("  "), row[5])
        })
        .collect()
}

fn short_state(job: &Job) -> String {
    let text = match &job.waiting_for {
        Some(on) => format!("{}{}", job.outcome_text(), short_lock(on)),
        None => format!("{}{}{}", job.outcome_text(), lingering(job), waiting(job)),
    };
    cut(&one_line(&text), 40)
}

/// The holder first: a lock may have a long name.
fn short_lock(on: &WaitingFor) -> String {
    match &on.holder {
        Some(holder) => format!(" for {holder} ({})", on.lock),
        None => format!(" ({})", on.lock),
    }
}

/// How a doorbell stands, in words.
fn doorbell(bell: &Rung) -> String {
    let times = match bell.attempts {
        0 => String::new(),
        attempts => format!(" after {}", count(attempts as u64, "attempt")),
    };
    let stands = match (bell.state, bell.attempts) {
        ("rung", 1) => "rung".to_owned(),
        ("rung", _) => format!("rung{times}"),
        ("waiting", 0) => "being rung".to_owned(),
        ("waiting", _) => format!("to be rung again{times}"),
        _ => format!("given up{times}"),
    };
    let failure = match &bell.failure {
        Some(failure) => format!(": {}", one_line(failure)),
        None => String::new(),
    };
    format!("{} {stands}{failure}", bell.name)
}

/// Everything about a job, for a person.
pub fn details(job: &Job, preview: &str) -> String {
    let mut rows = vec![
        ("job", job.id.to_string()),
        ("command", job.command.clone()),
        (
            "state",
            line(job)
                .split_once(' ')
                .map(|(_, rest)| rest.to_owned())
                .unwrap_or_default(),
        ),
        ("cwd", job.cwd.clone()),
    ];
    let mut add = |key, value: Option<String>| rows.extend(value.map(|value| (key, value)));
    add("name", job.name.as_ref().map(ToString::to_string));
    add("session", job.session.as_ref().map(ToString::to_string));
    add("task", job.task.as_ref().map(ToString::to_string));
    add("pid", job.pid.map(|pid| pid.to_string()));
    add("started", job.started_at.clone());
    let ready = |ready| if ready { "yes" } else { "not yet" };
    add(
        "ready",
        match (job.ready, job.has_ended()) {
            (Some(false), true) => Some("it never was".to_owned()),
            (Some(is), _) => Some(ready(is).to_owned()),
            (None, _) => None,
        },
    );
    let of_watch = |lines| {
        let were = agree(lines, "was", "were");
        format!("{} of its watch {were} told", count(lines, "line"))
    };
    add("matches", job.matches.map(of_watch));
    add("ended", job.ended_at.clone());
    add("asked by", job.ended_by_detail.clone());
    add(
        "used",
        job.usage.map(|usage| {
            let cpu = (usage.user_ms + usage.system_ms) as f64 / 1000.0;
            format!(
                "{cpu:.2} s of CPU, {} of memory at most",
                show_size(usage.max_rss_bytes)
            )
        }),
    );
    for bell in &job.doorbells {
        add("doorbell", Some(doorbell(bell)));
    }
    let dropped = dropped(&job.output);
    let missing = match job.output.complete {
        true => "",
        false => ", what it wrote last may be missing",
    };
    rows.push((
        "output",
        format!(
            "{}{dropped}{missing}, in {}",
            show_size(job.output.bytes),
            job.output.path.display()
        ),
    ));
    let mut text: String = rows
        .iter()
        .map(|(key, value)| {
            // A command of several lines is shown as such.
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

/// What is missing of an output: as it was asked for, and for want of room.
fn dropped(output: &JobOutput) -> String {
    let failed = output.dropped_bytes - output.beyond_bound;
    let mut text = String::new();
    if output.beyond_bound > 0 {
        let size = show_size(output.beyond_bound);
        text.push_str(&format!(", {size} of it were dropped (--max-output)"));
    }
    if failed > 0 {
        text.push_str(&format!(", {} of it could not be kept", show_size(failed)));
    }
    text
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
