//! Jobs as lines and tables.

mod usage;

pub use usage::{sample, usage_table};

use outlive::api::job::JobView;
use outlive::units::show_size;
use outlive::words::{self, cut, one_line};
use outlive::{Job, count, visible};

/// One line that says how a job is or how it ended.
pub fn line(job: &Job) -> String {
    visible(&format!("{} {}", job.id, words::state(job))).into_owned()
}

/// A table of jobs; empty text for none.
pub fn table(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let heads = ["ID", "STATE", "TIME", "OUTPUT", "NAME", "COMMAND"];
    let rows = jobs.iter().map(|job| {
        vec![
            job.id.to_string(),
            cut(&one_line(&words::short_state(job)), 48),
            words::duration(job),
            show_size(job.output.bytes),
            job.name
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string),
            cut(&one_line(&job.command), 60),
        ]
    });
    aligned(&heads, rows.collect())
}

/// Rows below their heads. The last column is not padded.
fn aligned(heads: &[&str], rows: Vec<Vec<String>>) -> String {
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let last = heads.len() - 1;
    let rows: Vec<Vec<String>> = [heads].into_iter().chain(rows).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..last).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        format!("{cells}{}\n", row[last])
    };
    rows.iter().map(line).collect()
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
    add("name", job.name.as_ref().map(ToString::to_string));
    add("session", job.session.as_ref().map(ToString::to_string));
    add("task", job.task.as_ref().map(ToString::to_string));
    add("pid", job.pid.map(|pid| pid.to_string()));
    add("started", job.started_at.map(|at| at.to_string()));
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
    for bell in &job.doorbells {
        add("doorbell", Some(words::doorbell(bell)));
    }
    let dropped = words::dropped(&job.output);
    let missing = match job.output.complete {
        true => "",
        false => ", the newest part may be missing",
    };
    rows.push((
        "output",
        format!(
            "{}{dropped}{missing}, in {}",
            show_size(job.output.bytes),
            job.output.path.as_path().display()
        ),
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
