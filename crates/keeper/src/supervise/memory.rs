//! Running out of memory: noticing it while the job runs, and telling it from other ends.
//!
//! With version 2 of control groups the kernel kills the whole job. With version 1 it kills one process, and wakes the
//! keeper, which then kills the rest. Whether memory ended the job is never guessed: the job's own group counts it, or the kernel's log names
//! the leader.

use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use outlive_core::State;
use outlive_core::confined::{Confined, Controls, EnforcedBy};
use outlive_core::event::{StopCause, StopRequest};
use outlive_core::outcome::{EndedBy, Outcome, Usage};
use outlive_core::signal::Signal;
use outlive_core::state::Ender;
use outlive_sys::cgroup::OomBell;
use outlive_sys::process;
use std::io;

/// Lets the pair's bell ring when the job runs out of its memory, with version 1. It rings a moment before the kernel
/// counts what it kills. So the bell is shared, and a successor hears what its predecessor did not journal.
pub(crate) fn listen(job: &KeptJob) {
    let confined = job.state().confined.as_ref();
    let group = confined.and_then(|confined| confined.memory());
    if let (Some(group), Some(bell)) = (group, &job.shared.oom_bell)
        && group.controls == Controls::Memory
    {
        // Without it, only the process that the kernel chooses is killed at once.
        let _ = bell.listen_to(&group.directory);
    }
}

/// Whether the job has a limit of memory for all its processes together.
fn is_limited(job: &KeptJob) -> bool {
    let confined = job.state().confined.as_ref();
    let has_group = confined.is_some_and(|confined| confined.memory().is_some());
    has_group && job.spec().limits.memory_bytes.is_some()
}

/// The processes that are left belong to a job that ran out of its memory, and must not go on.
pub(crate) fn kills_the_rest(job: &KeptJob) -> bool {
    let by = job.state().end().map(|end| end.ended_by);
    by == Some(EndedBy::Memory) && is_limited(job)
}

/// What ended the job, where the journal alone would say that it was a signal or the job itself: a stop that could not
/// be journaled, or want of memory.
///
/// Kept out of line, as `begin::begin` is.
#[inline(never)]
pub(crate) fn ender(job: &KeptJob, outcome: &Outcome, unwritten: Option<&StopRequest>) -> Ender {
    let state = job.state();
    let by_signal = matches!(outcome, Outcome::Signaled { .. });
    let ender = state.ended_by(by_signal);
    match (ender.by, unwritten) {
        (EndedBy::Signal | EndedBy::Itself, Some(request)) => Ender::of(request),
        (EndedBy::Signal | EndedBy::Itself, None) if ran_out(job, outcome) => Ender {
            by: EndedBy::Memory,
            ..ender
        },
        _ => ender,
    }
}

fn ran_out(job: &KeptJob, outcome: &Outcome) -> bool {
    let state = job.state();
    let was_killed = matches!(outcome, Outcome::Signaled { signal, .. } if *signal == Signal::KILL);
    let has_run = was_killed || matches!(outcome, Outcome::Exited { .. });
    if outcome.is_success() || !has_run {
        return false;
    }
    // A limited job is killed as a whole. Here its leader was faster: it failed because a process of it was killed.
    let counted = state.confined.as_ref().and_then(|it| it.oom_kills());
    if is_limited(job) && counted.is_some_and(|kills| kills > 0) {
        return true;
    }
    let leader = state.phase.leader().filter(|_| was_killed);
    leader.is_some_and(|leader| {
        let process = leader.process;
        process::killed_for_memory(process.pid, process.started) == Some(true)
    })
}

/// The usage of an ended job with what only its control groups know.
pub(crate) fn completed(state: &State, usage: Option<Usage>) -> Option<Usage> {
    // Version 2 knows the peak of all attempts together only.
    let is_known =
        |confined: &&Confined| state.attempts.is_none() || confined.by != EnforcedBy::CgroupV2;
    let confined = state.confined.as_ref().filter(is_known);
    usage.map(|usage| Usage {
        peak_memory_bytes: confined.and_then(|confined| confined.peak_memory()),
        ..usage
    })
}

impl Keeper<'_> {
    /// What wakes the keeper when the job runs out of its memory. It keeps ringing, so it is heard only until a stop.
    pub(crate) fn oom_bell(&self) -> Option<&OomBell> {
        let bell = self.job.shared.oom_bell.as_ref();
        bell.filter(|_| self.job.is_running() && !self.stop.is_under_way())
    }

    /// The job has run out of the memory that it may use. The kernel kills one process of it; this kills the rest.
    pub(crate) fn out_of_memory(&mut self) -> io::Result<()> {
        self.stop(StopRequest {
            by: StopCause::Memory,
            detail: None,
            grace_ms: 0,
            session: None,
        })
    }

    /// Makes up for what happened while no keeper was alive.
    pub(crate) fn look_at_memory(&mut self) -> io::Result<()> {
        let counted = self.oom_bell().and_then(|_| {
            let confined = self.job.state().confined.as_ref();
            confined.and_then(|confined| confined.oom_kills())
        });
        match counted {
            Some(1..) => self.out_of_memory(),
            _ => Ok(()),
        }
    }
}
