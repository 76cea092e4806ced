//! `GET /metrics`: counts for Prometheus.
//!
//! Jobs and inboxes are counted when somebody asks, which reads the record of every job. What Prometheus calls counters
//! begins at 0 with each server.

use crate::failure::Refused;
use crate::server::{Desk, on_a_thread};
use crate::visit::Visit;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use outlive::inbox::Inbox;
use outlive::verbs::list::{self, Filter};
use outlive::{Job, JobId, Outlive};
use outlive_api::job::ToldState;
use outlive_api::outcome::{EndedBy, Outcome};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What was counted so far.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Option<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// Every job that was seen, with the size of its output then.
    seen: HashMap<JobId, u64>,
    starts: u64,
    ends: u64,
    output_bytes: u64,
    running: HashSet<JobId>,
}

impl Metrics {
    fn counted(&self, outlive: &Outlive) -> Result<String, Refused> {
        let filter = Filter {
            limit: usize::MAX,
            ..Filter::default()
        };
        let jobs = list::list(outlive, &filter)?.jobs;
        let waiting = waiting(outlive)?;
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &mut *counts {
            // The first look tells what there was before, and counts nothing.
            none @ None => none.insert(Counts::first(&jobs)).text(&jobs, waiting),
            Some(counts) => {
                counts.add(&jobs);
                counts.text(&jobs, waiting)
            }
        };
        Ok(text)
    }
}

/// How many events wait in all inboxes.
fn waiting(outlive: &Outlive) -> Result<usize, Refused> {
    let inboxes = Inbox::all(outlive)?;
    let each = inboxes.iter().map(Inbox::waiting);
    Ok(each.collect::<Result<Vec<_>, _>>()?.iter().sum())
}

impl Counts {
    fn first(jobs: &[Job]) -> Counts {
        Counts {
            seen: jobs
                .iter()
                .map(|job| (job.id.clone(), job.output.bytes))
                .collect(),
            running: running(jobs),
            ..Counts::default()
        }
    }

    fn add(&mut self, jobs: &[Job]) {
        for job in jobs {
            let before = self.seen.insert(job.id.clone(), job.output.bytes);
            self.starts += u64::from(before.is_none());
            // A job whose id was used again has written less than the one before.
            self.output_bytes += job.output.bytes.saturating_sub(before.unwrap_or(0));
            let is_over = job.has_ended();
            let ran = self.running.contains(&job.id) || before.is_none();
            self.ends += u64::from(is_over && ran);
        }
        self.running = running(jobs);
        let there: HashSet<&JobId> = jobs.iter().map(|job| &job.id).collect();
        self.seen.retain(|id, _| there.contains(id));
    }

    fn text(&self, jobs: &[Job], waiting: usize) -> String {
        let mut text = Text::default();
        let mut states = BTreeMap::new();
        let mut outcomes = BTreeMap::new();
        let mut told = BTreeMap::new();
        for job in jobs {
            *states.entry(job.state.as_str()).or_insert(0) += 1;
            if let Some(outcome) = &job.outcome {
                *outcomes
                    .entry(outcome_of(outcome, job.ended_by))
                    .or_insert(0) += 1;
            }
            if let Some(how) = &job.details.told {
                *told.entry(told_as(how.state)).or_insert(0) += 1;
            }
        }
        text.family("outlive_jobs", "gauge", "Jobs that are kept, by state.");
        states
            .iter()
            .for_each(|(state, count)| text.sample("outlive_jobs", &[("state", state)], *count));
        text.family(
            "outlive_ended_jobs",
            "gauge",
            "Ended jobs that are kept, by outcome.",
        );
        for ((outcome, by), count) in &outcomes {
            text.sample(
                "outlive_ended_jobs",
                &[("outcome", outcome), ("by", by)],
                *count,
            );
        }
        text.family(
            "outlive_ends",
            "gauge",
            "Ends of kept jobs that a session is to be told of, by how far that is.",
        );
        told.iter()
            .for_each(|(state, count)| text.sample("outlive_ends", &[("told", state)], *count));
        text.family(
            "outlive_events_waiting",
            "gauge",
            "Events that wait in the inboxes of all sessions.",
        );
        text.sample("outlive_events_waiting", &[], waiting as u64);
        for (name, what, value) in [
            (
                "outlive_starts_total",
                "Jobs that were started since this server first counted.",
                self.starts,
            ),
            (
                "outlive_ends_total",
                "Jobs that have ended since then.",
                self.ends,
            ),
            (
                "outlive_output_bytes_total",
                "Bytes that jobs have written since then.",
                self.output_bytes,
            ),
        ] {
            text.family(name, "counter", what);
            text.sample(name, &[], value);
        }
        text.0
    }
}

fn running(jobs: &[Job]) -> HashSet<JobId> {
    let running = jobs.iter().filter(|job| !job.has_ended());
    running.map(|job| job.id.clone()).collect()
}

/// The outcome, and what brought it about. There are few of each, as labels must be.
fn outcome_of(outcome: &Outcome, by: Option<EndedBy>) -> (&'static str, String) {
    let kind = match outcome {
        Outcome::Exited { code: 0 } => "succeeded",
        Outcome::Exited { .. } => "failed",
        Outcome::Signaled { .. } => "signaled",
        Outcome::NotStarted { .. } => "not_started",
        Outcome::Lost { .. } => "lost",
    };
    let by = serde_json::to_value(by).unwrap_or_default();
    (kind, by.as_str().unwrap_or("unknown").to_owned())
}

fn told_as(state: ToldState) -> &'static str {
    match state {
        ToldState::Waiting => "waiting",
        ToldState::Claimed => "claimed",
        ToldState::Delivered => "delivered",
        ToldState::Handed => "handed",
        ToldState::Told => "told",
        ToldState::Dropped => "dropped",
    }
}

/// The text format of Prometheus.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{value}\""))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

pub async fn metrics(State(desk): State<Arc<Desk>>, visit: Visit) -> Result<Response, Refused> {
    let text = on_a_thread(move || desk.metrics.counted(&visit.outlive)).await?;
    Ok(([(CONTENT_TYPE, KIND)], text).into_response())
}
