//! Running out of memory: noticing it while the job runs, and telling it from other ends.
//!
//! With version 2 of control groups the kernel kills the whole job. With version 1 it kills one process, and wakes the
//! keeper, which then kills the rest. Whether memory ended the job is never guessed: the job's own group counts it, or the kernel's log names
//! the leader.

use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use outlive_core::State;
use outlive_core::confined::Controls;
use outlive_core::event::{StopCause, StopRequest};
use outlive_core::outcome::{EndedBy, Outcome, Usage};
use outlive_core::signal::Signal;
use outlive_core::state::Ender;
use outlive_sys::cgroup::OomBell;
use outlive_sys::process;
use std::io;

/// What wakes the keeper of a job with a limit of memory, with version 1.
pub(crate) fn bell(state: &State) -> Option<OomBell> {
    let group = state.confined.as_ref()?.memory()?;
    let runs = state.end().is_none() && group.controls == Controls::Memory;
    // Without it, only the process that the kernel chose is killed.
    runs.then(|| OomBell::of(&group.directory).ok()).flatten()
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

/// What ended the job, where the journal alone would say that it was a signal or the job itself.
///
/// Kept out of line, as `begin::begin` is.
#[inline(never)]
pub(crate) fn ender(job: &KeptJob, outcome: &Outcome) -> Ender {
    let state = job.state();
    let by_signal = matches!(outcome, Outcome::Signaled { .. });
    let ender = state.ended_by(by_signal);
    let is_open = matches!(ender.by, EndedBy::Signal | EndedBy::Itself);
    match is_open && ran_out(job, outcome) {
        true => Ender {
            by: EndedBy::Memory,
            ..ender
        },
        false => ender,
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
    let confined = state.confined.as_ref();
    usage.map(|usage| Usage {
        peak_memory_bytes: confined.and_then(|confined| confined.peak_memory()),
        ..usage
    })
}

impl Keeper<'_> {
    /// The job has run out of the memory that it may use. The kernel kills one process of it; this kills the rest.
    pub(crate) fn out_of_memory(&mut self) -> io::Result<()> {
        if let Some(bell) = &self.oom_bell {
            bell.quiet();
        }
        // The group is also said to be out of memory when it is removed.
        match self.job.is_running() {
            true => self.stop(StopRequest {
                by: StopCause::Memory,
                detail: None,
                grace_ms: 0,
                session: None,
            }),
            false => Ok(()),
        }
    }

    /// Begins to listen, and makes up for what happened while no keeper did.
    pub(crate) fn watch_memory(&mut self) -> io::Result<()> {
        if self.job.state().confined.is_none() {
            return Ok(());
        }
        self.oom_bell = bell(self.job.state());
        let counted = self
            .job
            .state()
            .confined
            .as_ref()
            .and_then(|it| it.oom_kills());
        match self.oom_bell.is_some() && counted.is_some_and(|kills| kills > 0) {
            true => self.out_of_memory(),
            false => Ok(()),
        }
    }
}
