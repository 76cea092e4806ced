//! Builds the [`Job`] of the interface from its spec, its journal and what its keeper sees.

use crate::clock;
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, FarSight, bells};
use crate::jobs::details;
use crate::jobs::waiting::{waiting_for, without_strangers};
use crate::jobs::whereabouts::{self, Elsewhere};
use crate::redact::{redact, redact_argv};
use outlive_api::failure::Unreachable;
use outlive_api::job::{DoorbellState, DoorbellStatus, Job, JobOutput, JobState, LastKnown};
use outlive_api::limits::JobLimits;
use outlive_core::adopted::AdoptedProcess;
use outlive_core::control::InputKind;
use outlive_core::doorbell::{Doorbell, RingState};
use outlive_core::event::Moment;
use outlive_core::os_text::OsText;
use outlive_core::outcome::Outcome;
use outlive_core::place::LOCAL;
use outlive_core::state::Tail;
use outlive_core::{Input, JobDir, Millis, Phase, Spec, State, output};
use outlive_sys::process::Stat;

/// What is known about a job in addition to its record.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    /// Its keeper was asked, or there was nothing to ask.
    Clear(KeeperView),
    /// Its keeper did not answer in time.
    Silent,
    /// Another host keeps it.
    Elsewhere(Elsewhere),
    /// A place keeps it.
    Far(FarSight),
}

/// What a keeper sees of its job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeeperView {
    pub processes: u32,
    pub awaiting: Option<InputKind>,
    /// Whether its terminal passes on whole lines now.
    pub line_mode: Option<bool>,
}

/// Builds the job, without secrets unless they are shown. The leader is the first process of a running job on this host.
pub(crate) fn build(
    outlive: &Outlive,
    spec: Spec,
    state: &State,
    sight: Sight,
    leader: Option<&Stat>,
) -> Job {
    let job = as_it_is(outlive, spec, state, sight, leader);
    match outlive.shows_secrets() {
        true => job,
        false => redacted(without_strangers(outlive, job)),
    }
}

fn as_it_is(
    outlive: &Outlive,
    spec: Spec,
    state: &State,
    sight: Sight,
    leader: Option<&Stat>,
) -> Job {
    let dir = &outlive.job_dir(&spec.id);
    let started = state.started();
    let end = state.end();
    let is_far = spec.place != LOCAL;
    let waiting_for = match is_far {
        // Queues and locks of this home are others.
        true => None,
        false => waiting_for(dir, &spec, state),
    };
    let output = output(dir, &spec, state);
    let known = match &sight {
        Sight::Far(FarSight::Seen(job)) if job.state == JobState::Waiting => JobState::Waiting,
        _ if waiting_for.is_some() => JobState::Waiting,
        _ => state.phase.job_state(),
    };
    let keeper_silent = matches!(sight, Sight::Silent);
    let (seen, far) = match &sight {
        Sight::Clear(seen) => (Some(*seen), None),
        Sight::Silent | Sight::Elsewhere(_) => (None, None),
        Sight::Far(far) => (far.keeper_view(), Some(far.clone())),
    };
    // An end is in the record and does not change.
    let there = unreachable(sight).filter(|_| end.is_none());
    let bells = spec.doorbells.iter();
    let bells = bells.filter_map(|bell| doorbell_status(dir, &spec, state, bell));
    let job = Job {
        // What is computed from the whole spec comes first, and then its parts are moved.
        matches: is_or_was_watched(&spec, state).then_some(state.signs.matches),
        details: details::of(outlive, &spec, state),
        doorbells: bells.collect(),
        limits: limits(&spec, state),
        id: spec.id,
        name: spec.name,
        session: spec.session,
        task: spec.task,
        place: spec.place,
        command: spec.command,
        argv: spec.argv.into_iter().map(OsText::into_lossy).collect(),
        cwd: spec.cwd.into_lossy(),
        pty: matches!(spec.input, Input::Pty(_)),
        streams: spec.streams,
        state: match there {
            Some(_) => JobState::Unreachable,
            None => known,
        },
        pid: state
            .phase
            .leader()
            .filter(|_| has_executed(state) && there.is_none())
            .map(|leader| leader.process.pid),
        started_at: started.or(state.accepted).map(Moment::timestamp),
        ended_at: state.ended_at().map(Moment::timestamp),
        duration_ms: match end {
            Some(end) => end.duration_ms.map(Millis),
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
        awaiting_input: seen.map(|seen| seen.awaiting.is_some()),
        input_kind: seen.and_then(|seen| seen.awaiting),
        ready: spec.ready.map(|_| state.signs.ready.is_some()),
        waiting_for,
        restart: spec.restart,
        attempt: spec.restart.map(|_| state.attempt()),
        next_attempt_at: state.next_attempt().map(Moment::timestamp),
        not_restarted: end.and_then(|end| end.not_restarted.clone()),
        attempts: Vec::new(),
        usage: end.and_then(|end| end.usage),
        last: there.as_ref().map(|_| LastKnown {
            state: known,
            // A place says that only when it is asked.
            output_bytes: (!is_far).then_some(output.bytes),
        }),
        heard_at: away::heard_before_lost(dir, state).filter(|_| is_far),
        unreachable: there,
        adopted: spec.adopted.map(|job| job.as_found),
        output,
        keeper_silent,
        suspended: !is_far && leader.is_some_and(Stat::is_stopped),
    };
    match far {
        Some(far) => away::complete(job, state, far),
        None => job,
    }
}

/// Why the job cannot be reached, if so.
fn unreachable(sight: Sight) -> Option<Unreachable> {
    match sight {
        Sight::Clear(_) | Sight::Silent => None,
        Sight::Elsewhere(there) => Some(Unreachable {
            host: there.host,
            reason: there.reason,
            since: None,
        }),
        Sight::Far(FarSight::Unreached(unheard)) => Some(Unreachable {
            host: unheard.place,
            reason: unheard.reason,
            since: unheard.since,
        }),
        Sight::Far(FarSight::Seen(_) | FarSight::NotAsked(_)) => None,
    }
}

/// Whether its first process executes the command, or did so.
fn has_executed(state: &State) -> bool {
    !matches!(
        state.end().map(|end| &end.outcome),
        Some(Outcome::NotStarted { .. })
    )
}

fn is_or_was_watched(spec: &Spec, state: &State) -> bool {
    spec.watch.is_some() || state.watch(spec).is_some() || state.signs.matches > 0
}

/// The job with credentials removed from every field that may contain one.
fn redacted(job: Job) -> Job {
    Job {
        command: redact(&job.command).into_owned(),
        argv: redact_argv(&job.argv),
        cwd: redact(&job.cwd).into_owned(),
        outcome: job.outcome.map(|outcome| match outcome {
            Outcome::NotStarted { reason, cause } => Outcome::NotStarted {
                reason: redact(&reason).into_owned(),
                cause,
            },
            other => other,
        }),
        details: details::redacted(job.details),
        doorbells: job.doorbells.into_iter().map(redacted_doorbell).collect(),
        adopted: job.adopted.map(redacted_process),
        ..job
    }
}

/// A command's error message may contain its arguments.
fn redacted_doorbell(bell: DoorbellStatus) -> DoorbellStatus {
    DoorbellStatus {
        failure: bell.failure.map(|failure| redact(&failure).into_owned()),
        ..bell
    }
}

/// The name of a file may contain a credential.
fn redacted_process(found: AdoptedProcess) -> AdoptedProcess {
    let clean = |place: OsText| OsText::from(redact(&place.lossy()).into_owned().as_str());
    AdoptedProcess {
        stdout: found.stdout.map(clean),
        stderr: found.stderr.map(clean),
        ..found
    }
}

fn output(dir: &JobDir, spec: &Spec, state: &State) -> JobOutput {
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
    let is_here = spec.place == LOCAL;
    JobOutput {
        bytes,
        dropped_bytes,
        dropped_by_limit_bytes: dropped_bytes.min(beyond.end - beyond.start),
        complete,
        path: is_here.then(|| dir.output().into()),
        path_there: match is_here {
            true => None,
            false => away::output_path(dir, &spec.id).map(Into::into),
        },
    }
}

/// Its limits, if it has any, and how they are enforced.
fn limits(spec: &Spec, state: &State) -> Option<JobLimits> {
    (!spec.limits.is_none()).then(|| JobLimits {
        asked: spec.limits,
        enforced_by: state.confined.as_ref().map(|confined| confined.by),
    })
}

fn doorbell_status(
    dir: &JobDir,
    spec: &Spec,
    state: &State,
    bell: &Doorbell,
) -> Option<DoorbellStatus> {
    let (rang, failure) = match bells::standing(dir, spec, state, bell)? {
        RingState::Rung => (DoorbellState::Rung, None),
        RingState::Waiting { failure, .. } => (DoorbellState::Waiting, failure),
        RingState::GivenUp { failure } => (DoorbellState::GivenUp, Some(failure)),
    };
    let tries = state.signs.rings.iter();
    Some(DoorbellStatus {
        name: bell.name.clone(),
        state: rang,
        attempts: tries.filter(|ring| ring.doorbell == bell.name).count(),
        failure,
    })
}

/// How long it has run, if it started in this boot.
fn running_for(state: &State, since: Moment) -> Option<Millis> {
    let same_boot = state.boot.as_ref() == Some(&whereabouts::here().ok()?.boot);
    same_boot.then(|| clock::boot().since(since.boot).into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_handle_hides_secrets_unless_told_otherwise() {
        let world = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(world.path()).unwrap();
        let spec: Spec = serde_json::from_value(serde_json::json!({
            "format": 1, "id": "x", "place": "local", "command": "curl -u me:hunter22 http://a",
            "argv": ["curl", "-u", "me:hunter22", "http://a"], "cwd": "/", "grace_ms": 1, "notify": "end",
            "leftovers": "keep",
        }))
        .unwrap();
        let shown = |outlive: &Outlive| {
            let sight = Sight::Clear(KeeperView::default());
            let job = build(outlive, spec.clone(), &State::default(), sight, None);
            serde_json::to_string(&job).unwrap().contains("hunter22")
        };
        assert!(!shown(&outlive));
        assert!(shown(&outlive.clone().showing_secrets()));
        assert!(!shown(&outlive.showing_secrets().hiding_secrets()));
    }
}
