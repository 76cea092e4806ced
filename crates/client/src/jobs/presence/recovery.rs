//! Recovers a job that has no keeper: starts new keepers, or records how the job ended.

use super::{SHORT_PAUSE, open_lock};
use crate::clock;
use crate::environment::inherited::JobVariables;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::whereabouts::{self, GoneReason};
use crate::launch::keeper_process::{self, StartResult};
use crate::moment::now;
use outlive_core::ending::{self, Remaining};
use outlive_core::event::{Event, LingeringEnded, Moment};
use outlive_core::outcome::{End, EndedBy, NotStarted, Outcome};
use outlive_core::{
    JobDir, JobId, JournalWriter, Phase, Spec, State, doorbell, output, restart, words,
};
use outlive_sys::lock::{self, Lock, LockResult};
use std::io;
use std::thread;

/// What to do about a job without a keeper.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    /// It is already over.
    Nothing,
    Adopt,
    /// It cannot be running, so an outcome is recorded.
    Settle(Outcome),
    /// No attempt of it can be running, and none follows, for this reason. It ends as its last attempt did.
    EndInPause(&'static str),
    /// It has ended, and the processes that it left behind cannot be running.
    Close,
}

fn remedy(state: &State, spec: Option<&Spec>, damaged: bool, gone: Option<GoneReason>) -> Remedy {
    match &state.phase {
        _ if state.is_final() => Remedy::Nothing,
        Phase::Unwritten if gone == Some(GoneReason::Restarted) => Remedy::Settle(Outcome::Lost {
            reason: "the machine was restarted before its journal was on the disk: whether it ran is not known"
                .to_owned(),
        }),
        Phase::Unwritten => Remedy::Settle(Outcome::Lost {
            reason: "its journal is empty or damaged: nothing is known of it".to_owned(),
        }),
        // The power loss may have removed or damaged the last journal lines.
        Phase::Accepted if gone == Some(GoneReason::Restarted) => Remedy::Settle(Outcome::Lost {
            reason:
                "the machine was restarted as it was being started: whether it ran is not known"
                    .to_owned(),
        }),
        // The damaged line may have been its start.
        Phase::Accepted if damaged => Remedy::Settle(Outcome::Lost {
            reason: "its journal is damaged: whether it ran is not known".to_owned(),
        }),
        Phase::Accepted => Remedy::Settle(Outcome::NotStarted {
            reason: match spec.filter(|spec| spec.may_wait() && state.kept.is_some()) {
                Some(spec) if state.is_stopped_early() => words::stopped_waiting(spec),
                Some(spec) => words::unkept_waiting(spec),
                None => "whoever was starting it was killed first".to_owned(),
            },
            cause: NotStarted::Failed,
        }),
        Phase::Ended { .. } if gone.is_some() && !is_to_ring(state, spec) => Remedy::Close,
        Phase::Ended { .. } => Remedy::Adopt,
        // Keepers stop what the last attempt has left. After a restart, nothing can be left.
        Phase::Backoff { .. } => match gone {
            None => Remedy::Adopt,
            Some(GoneReason::Restarted) => Remedy::EndInPause(restart::MACHINE_RESTARTED),
            Some(GoneReason::NamespaceEnded) => Remedy::EndInPause(restart::NAMESPACE_ENDED),
        },
        Phase::Spawned(_) | Phase::Running(_) | Phase::Stopping(..) => match gone {
            None => Remedy::Adopt,
            Some(GoneReason::Restarted) => Remedy::Settle(Outcome::Lost {
                reason: "the machine was restarted while it ran".to_owned(),
            }),
            Some(GoneReason::NamespaceEnded) => Remedy::Settle(Outcome::Lost {
                reason: "the container or PID namespace that it ran in has ended".to_owned(),
            }),
        },
    }
}

fn is_to_ring(state: &State, spec: Option<&Spec>) -> bool {
    spec.is_some_and(|spec| doorbell::any_waits(state, &spec.doorbells, clock::boot()))
}

/// Adopts the job or records its end. The caller holds the lock, so only one process does this.
pub(super) fn recover(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    gone: Option<GoneReason>,
) -> Result<(), Error> {
    let failed = || Error::io("cannot write the journal of", job.path());
    let before_boot = gone.is_none() && whereabouts::is_from_before_boot(outlive, job);
    let mut journal = JournalWriter::open(&job.journal())?;
    // Without a first event, the journal does not tell the boot either.
    let gone = match journal.state().boot {
        None if before_boot => Some(GoneReason::Restarted),
        _ => gone,
    };
    let at = now();
    let spec = outlive.read_spec(id).ok();
    let bound = spec.as_ref().and_then(Spec::bound);
    let output_bytes = output::size_of(job, bound);
    let middle = bound.map_or(0..0, |bound| bound.dropped(output_bytes));
    let dropped_bytes = journal.state().missing_bytes(&middle);
    match remedy(journal.state(), spec.as_ref(), journal.is_damaged(), gone) {
        Remedy::Nothing => Ok(()),
        Remedy::Adopt => {
            keeper_process::start(outlive, job, id, lock, &JobVariables::default()).map(drop)
        }
        Remedy::EndInPause(why) => {
            let end = journal
                .state()
                .end_in_pause(why, output_bytes, dropped_bytes);
            end.map_or(Ok(()), |end| {
                let settled = settle(job, &mut journal, at, spec.as_ref(), end).map_err(failed())?;
                go_on(outlive, job, id, lock, settled)
            })
        }
        Remedy::Settle(outcome) => {
            let mut end = End::unseen(outcome, output_bytes, dropped_bytes);
            if journal.state().is_stopped_early() {
                let ender = journal.state().ended_by(false);
                end.ended_by = ender.by;
                end.ended_by_detail = ender.detail;
                end.ended_by_session = ender.session;
            }
            let settled = settle(job, &mut journal, at, spec.as_ref(), end).map_err(failed())?;
            go_on(outlive, job, id, lock, settled)
        }
        Remedy::Close => {
            close(&mut journal, output_bytes, dropped_bytes).map_err(failed())?;
            ending::retire(job, spec.as_ref(), journal.state().confined.as_ref()).map_err(failed())
        }
    }
}

/// Starts keepers for an ended job if there is something left to do.
fn go_on(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    left: Remaining,
) -> Result<(), Error> {
    match left {
        Remaining::Nothing => Ok(()),
        Remaining::Lingering => {
            keeper_process::start(outlive, job, id, lock, &JobVariables::default()).map(drop)
        }
    }
}

/// Records an end. Returns whether work is left, which can only be doorbells to ring.
fn settle(
    job: &JobDir,
    journal: &mut JournalWriter,
    at: Moment,
    spec: Option<&Spec>,
    end: End,
) -> io::Result<Remaining> {
    let mut bells = spec.iter().flat_map(|spec| &spec.doorbells);
    if !bells.any(|bell| bell.on.rings_for(&end.outcome)) {
        return ending::settle(job, spec, journal, at, end).map(|()| Remaining::Nothing);
    }
    let findable = ending::make_findable(job, spec);
    ending::record(findable, journal, at, end, Remaining::Lingering)?;
    ending::note(job, spec, at.wall)?;
    Ok(Remaining::Lingering)
}

/// Records that nothing more will happen to an ended job.
fn close(journal: &mut JournalWriter, output_bytes: u64, dropped_bytes: u64) -> io::Result<()> {
    let closed = Event::Closed {
        output_bytes,
        dropped_bytes,
        // No keeper was there when the remaining processes ended.
        output_complete: journal.state().end().is_some_and(|end| end.lingering == 0),
    };
    let gone = match journal.state().lingering() {
        0 => None,
        lingering => Some(Event::LingeringEnded(LingeringEnded {
            lingering,
            ended_by: EndedBy::Unknown,
            seen: false,
            output_bytes,
        })),
    };
    let events: Vec<Event> = gone.into_iter().chain([closed]).collect();
    journal.append(now(), &events)?;
    journal.sync()
}

/// Records that a job was not started because its keepers could not start, or died.
pub fn abandon(outlive: &Outlive, id: &JobId, reason: &str) -> Result<(), Error> {
    let job = outlive.job_dir(id);
    let failed = || Error::io("cannot write the journal of", job.path());
    let lock = loop {
        if job.read_journal()?.state.phase != Phase::Accepted {
            return Ok(());
        }
        match lock::take(open_lock(&job)?).map_err(failed())? {
            LockResult::Acquired(lock) => break lock,
            // Its keepers hold the lock and are about to exit.
            LockResult::Held => thread::sleep(SHORT_PAUSE),
        }
    };
    let mut journal = JournalWriter::open(&job.journal())?;
    if journal.state().phase != Phase::Accepted {
        return Ok(());
    }
    let outcome = Outcome::NotStarted {
        reason: reason.to_owned(),
        cause: NotStarted::Failed,
    };
    let spec = outlive.read_spec(id)?;
    let end = End::unseen(outcome, 0, 0);
    if settle(&job, &mut journal, now(), Some(&spec), end).map_err(failed())? == Remaining::Nothing
    {
        return Ok(());
    }
    drop(journal);
    if let Ok(StartResult::Ready) =
        keeper_process::start(outlive, &job, id, lock, &JobVariables::default())
    {
        return Ok(());
    }
    // No keeper can be started to ring the doorbells. The next verb would find the same.
    if let LockResult::Acquired(_lock) = lock::take(open_lock(&job)?).map_err(failed())? {
        let mut journal = JournalWriter::open(&job.journal())?;
        if !journal.state().is_final() {
            close(&mut journal, 0, 0).map_err(failed())?;
            ending::retire(&job, Some(&spec), journal.state().confined.as_ref())
                .map_err(failed())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
