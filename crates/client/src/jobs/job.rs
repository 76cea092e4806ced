//! A job as the faces show it: the interface's JSON object.

use crate::home::outlive::Outlive;
use crate::jobs::whereabouts::{self, Elsewhere};
use crate::redact::{redact, redact_argv};
use outlive_core::control::InputKind;
use outlive_core::doorbell::{self, Doorbell, RingState};
use outlive_core::event::Moment;
use outlive_core::outcome::{EndedBy, Outcome, Usage};
use outlive_core::state::Tail;
use outlive_core::units::show_duration;
use outlive_core::{Input, JobDir, JobId, Label, Phase, Spec, State, output};
use outlive_sys::{clock, lock, process};
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// One job now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    pub id: JobId,
    pub name: Option<Label>,
    pub session: Option<Label>,
    pub task: Option<Label>,
    pub place: String,
    pub command: String,
    pub argv: Vec<String>,
    pub cwd: String,
    pub pty: bool,
    pub state: &'static str,
    /// While it runs; afterwards the number may be another process's.
    pub pid: Option<i32>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub duration_ms: Option<u64>,
    pub outcome: Option<Outcome>,
    pub exit_code: Option<i32>,
    pub ended_by: Option<EndedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by_detail: Option<String>,
    /// Processes that run on after the end; `None` where the keeper did not say.
    pub lingering: Option<u32>,
    pub output: JobOutput,
    /// `None` where the keeper did not say.
    pub awaiting_input: Option<bool>,
    /// What it waits for: `line`, `password`, `keys`, or `data` on a pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_kind: Option<InputKind>,
    /// Whether it has shown the sign it was to be ready by; nothing where none was asked for.
    pub ready: Option<bool>,
    /// What keeps it from being started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Lines that matched its watch and were told of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<u64>,
    /// How its doorbells stand, once it has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doorbells: Vec<Rung>,
    pub usage: Option<Usage>,
    /// Its first process is suspended, by SIGSTOP or Ctrl-Z say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Why it cannot be reached from this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Unreachable>,
    /// What its record says, where it cannot be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Last>,
    /// Its keeper is there and did not answer in time: it is suspended, or the machine is very busy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeper_silent: bool,
}

/// Why a job cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreachable {
    /// The host that keeps it.
    pub host: String,
    pub reason: String,
}

/// What the record of a job says that cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Last {
    pub state: &'static str,
    pub output_bytes: u64,
}

/// A lock that another job has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingFor {
    pub lock: Label,
    /// The job that has it, where that is known.
    pub holder: Option<JobId>,
}

/// The state of a doorbell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rung {
    pub name: String,
    /// `rung`, `waiting` (to be rung, or again) or `given_up`.
    pub state: &'static str,
    pub attempts: usize,
    /// Why it failed the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Rung {
    /// What a command says of its failing may hold what it was given.
    fn redacted(self) -> Rung {
        Rung {
            failure: self.failure.map(|failure| redact(&failure).into_owned()),
            ..self
        }
    }
}

/// How a job looks beyond its record.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    /// Its keeper was asked, or there was nothing to ask.
    Clear(Seen),
    /// Its keeper did not answer in time.
    Silent,
    Elsewhere(Elsewhere),
}

/// What a keeper sees of its job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub processes: u32,
    pub awaiting: Option<InputKind>,
    /// Whether its terminal hands over whole lines.
    pub line_mode: Option<bool>,
}

/// What a job has written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobOutput {
    pub bytes: u64,
    pub dropped_bytes: u64,
    /// So many of those because more was written than was to be kept; the others could not be.
    #[serde(skip)]
    pub beyond_bound: u64,
    /// `false` if no keeper was there at the end: the last output may be missing.
    pub complete: bool,
    pub path: PathBuf,
}

impl Job {
    /// Puts together what was asked, what has happened and what its keeper sees now.
    pub(crate) fn new(outlive: &Outlive, spec: &Spec, state: &State, sight: Sight) -> Job {
        let job = Job::as_it_is(&outlive.job_dir(&spec.id), spec, state, sight);
        match outlive.shows_secrets() {
            true => job,
            false => job.redacted(),
        }
    }

    fn as_it_is(dir: &JobDir, spec: &Spec, state: &State, sight: Sight) -> Job {
        let started = state.phase.leader().map(|leader| leader.since);
        let end = state.end();
        let waiting_for = waiting_for(dir, spec, state);
        let output = JobOutput::new(dir, spec, state);
        let known = match waiting_for {
            Some(_) => "waiting",
            None => state.phase.word(),
        };
        let keeper_silent = matches!(sight, Sight::Silent);
        let (seen, there) = match sight {
            Sight::Clear(seen) => (Some(seen), None),
            Sight::Silent => (None, None),
            // An end is in the record, and does not change any more.
            Sight::Elsewhere(there) => (None, Some(there).filter(|_| end.is_none())),
        };
        let last = there.as_ref().map(|_| Last {
            state: known,
            output_bytes: output.bytes,
        });
        Job {
            id: spec.id.clone(),
            name: spec.name.clone(),
            session: spec.session.clone(),
            task: spec.task.clone(),
            place: spec.place.clone(),
            command: spec.command.clone(),
            argv: spec.argv.iter().map(|argument| argument.lossy()).collect(),
            cwd: spec.cwd.lossy(),
            pty: matches!(spec.input, Input::Pty(_)),
            state: match there {
                Some(_) => "unreachable",
                None => known,
            },
            pid: state
                .phase
                .leader()
                .filter(|_| end.is_none() && there.is_none())
                .map(|leader| leader.process.pid),
            started_at: started
                .or(state.accepted)
                .map(|at| at.timestamp().to_string()),
            ended_at: state.ended_at().map(|at| at.timestamp().to_string()),
            duration_ms: match end {
                Some(end) => end.duration_ms,
                None => started.and_then(|since| running_for(state, since)),
            },
            outcome: end.map(|end| end.outcome.clone()),
            exit_code: end.and_then(|end| end.outcome.exit_code()),
            ended_by: end.map(|end| end.ended_by),
            ended_by_detail: end.and_then(|end| end.ended_by_detail.clone()),
            lingering: match end {
                Some(_) => seen.map(|seen| seen.processes),
                None => Some(0),
            },
            output,
            awaiting_input: seen.map(|seen| seen.awaiting.is_some()),
            input_kind: seen.and_then(|seen| seen.awaiting),
            ready: spec.ready.as_ref().map(|_| state.signs.ready.is_some()),
            waiting_for,
            matches: spec.watch.as_ref().map(|_| state.signs.matches),
            doorbells: spec
                .doorbells
                .iter()
                .filter_map(|bell| rung(state, bell))
                .collect(),
            usage: end.and_then(|end| end.usage),
            unreachable: there.map(|there| Unreachable {
                host: there.host,
                reason: there.reason,
            }),
            last,
            keeper_silent,
            suspended: is_suspended(state),
        }
    }

    /// Without what looks like a credential, in all that whoever started it may have put one into.
    fn redacted(self) -> Job {
        Job {
            command: redact(&self.command).into_owned(),
            argv: redact_argv(&self.argv),
            outcome: self.outcome.map(|outcome| match outcome {
                Outcome::NotStarted { reason, cause } => Outcome::NotStarted {
                    reason: redact(&reason).into_owned(),
                    cause,
                },
                other => other,
            }),
            doorbells: self.doorbells.into_iter().map(Rung::redacted).collect(),
            ..self
        }
    }

    pub fn has_ended(&self) -> bool {
        self.outcome.is_some()
    }

    /// The outcome in a few words: `exited 0`, `SIGKILL`, `not started: …`.
    pub fn outcome_text(&self) -> String {
        let by = match self.ended_by {
            Some(EndedBy::Stop) => " (stopped)",
            Some(EndedBy::Timeout) => " (timed out)",
            Some(EndedBy::Memory) => " (out of memory)",
            Some(EndedBy::Place) => " (stopped with its `run --foreground` process)",
            _ => "",
        };
        match &self.outcome {
            None => match &self.unreachable {
                Some(why) => format!("{}: {}", self.state, why.reason),
                None if self.suspended => format!("{} (suspended)", self.state),
                None => self.state.to_owned(),
            },
            Some(Outcome::Exited { code }) => format!("exited {code}{by}"),
            Some(Outcome::Signaled {
                signal,
                core_dumped,
            }) => {
                format!(
                    "{signal}{}{by}",
                    if *core_dumped { ", core dumped" } else { "" }
                )
            }
            Some(Outcome::NotStarted { reason, .. }) => format!("not started: {reason}"),
            Some(Outcome::Lost { reason }) => format!("lost: {reason}"),
        }
    }

    pub fn duration_text(&self) -> String {
        self.duration_ms.map_or_else(
            || "-".to_owned(),
            |ms| show_duration(Duration::from_millis(ms)),
        )
    }
}

impl JobOutput {
    fn new(dir: &JobDir, spec: &Spec, state: &State) -> JobOutput {
        let path = dir.output();
        let mut complete = state.end().is_none_or(|end| end.output_complete);
        let (bytes, dropped_bytes) = match (&state.phase, state.end()) {
            (
                Phase::Ended {
                    tail:
                        Tail::Closed {
                            output_bytes,
                            dropped_bytes,
                            output_complete,
                        },
                    ..
                },
                _,
            ) => {
                complete &= *output_complete;
                (*output_bytes, *dropped_bytes)
            }
            (_, end) => {
                let size = output::size_of(dir, spec.bound());
                let missing = state.missing_bytes(&spec.dropped(size));
                let dropped = end.map_or(0, |end| end.dropped_bytes).max(missing);
                (size, dropped)
            }
        };
        let beyond = spec.dropped(bytes);
        JobOutput {
            bytes,
            dropped_bytes,
            beyond_bound: dropped_bytes.min(beyond.end - beyond.start),
            complete,
            path,
        }
    }
}

/// The lock it is to have, if another job has it.
fn waiting_for(dir: &JobDir, spec: &Spec, state: &State) -> Option<WaitingFor> {
    let lock = spec
        .lock
        .as_ref()
        .filter(|_| state.phase == Phase::Accepted)?;
    let (home, own) = dir.place().ok()?;
    let mut file = File::open(home.lock(lock)).ok()?;
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    let holder = JobId::parse(&text).ok();
    let is_taken = lock::is_taken(&file).unwrap_or(true);
    (is_taken && holder.as_ref() != Some(&own)).then(|| WaitingFor {
        lock: lock.clone(),
        holder,
    })
}

fn rung(state: &State, bell: &Doorbell) -> Option<Rung> {
    let (word, failure) = match doorbell::standing(state, bell, clock::boot_ms())? {
        RingState::Rung => ("rung", None),
        RingState::Waiting { failure, .. } => ("waiting", failure),
        RingState::GivenUp { failure } => ("given_up", Some(failure)),
    };
    let tries = state.signs.rings.iter();
    Some(Rung {
        name: bell.name.clone(),
        state: word,
        attempts: tries.filter(|ring| ring.doorbell == bell.name).count(),
        failure,
    })
}

/// Whether the leader of a running job of this host is suspended.
fn is_suspended(state: &State) -> bool {
    let is_here = || whereabouts::here().is_ok_and(|here| here.has_processes_of(state));
    let leader = state.phase.leader().filter(|_| state.end().is_none());
    leader.is_some_and(|leader| {
        let stat = process::stat(leader.process.pid);
        let is_stopped =
            stat.is_some_and(|stat| stat.started == leader.process.started && stat.is_stopped());
        is_stopped && is_here()
    })
}

/// How long it has run, if that was in this boot.
fn running_for(state: &State, since: Moment) -> Option<u64> {
    let same_boot = state.boot.as_ref() == Some(&whereabouts::here().ok()?.boot);
    same_boot.then(|| clock::boot_ms().saturating_sub(since.boot_ms))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_handle_hides_secrets_unless_told_otherwise() {
        let world = tempfile::tempdir().unwrap();
        let outlive = Outlive::open(Some(world.path().to_owned())).unwrap();
        let spec: Spec = serde_json::from_value(serde_json::json!({
            "format": 1, "id": "x", "place": "local", "command": "curl -u me:hunter22 http://a",
            "argv": ["curl", "-u", "me:hunter22", "http://a"], "cwd": "/", "grace_ms": 1, "notify": "end",
            "leftovers": "keep",
        }))
        .unwrap();
        let shown = |outlive: &Outlive| {
            let sight = Sight::Clear(Seen::default());
            let job = Job::new(outlive, &spec, &State::default(), sight);
            serde_json::to_string(&job).unwrap().contains("hunter22")
        };
        assert!(!shown(&outlive));
        assert!(shown(&outlive.clone().showing_secrets()));
        assert!(!shown(&outlive.showing_secrets().hiding_secrets()));
    }
}
