//! Recording the end, in phases that can only be done in order: each consumes the one before.
//!
//! ```text
//! Exited ─drain─► Drained ─sync─► Synced ─record─► Recorded ─publish─► (told)
//! ```
//! Nobody is told of the end before it is synced, and nothing is synced before it is complete.

use crate::clock;
use crate::hooks::Hook;
use crate::output::capture::{Capture, Feed};
use crate::output::taking::Output;
use crate::start::leader::LeaderEnd;
use crate::supervise::kept_job::KeptJob;
use crate::supervise::memory;
use outlive_core::ending::{self, Findable, Remaining};
use outlive_core::event::{Event, Moment, StopRequest};
use outlive_core::outcome::{End, Outcome};
use outlive_core::state::Ender;
use std::io;

/// The leader has ended: when and how.
#[derive(Debug)]
pub struct Exited {
    /// When a keeper noticed. This is later than the end if no keeper was alive then.
    pub at: Moment,
    pub ended: LeaderEnd,
    /// Doorbells are to be rung for this end.
    pub rings: bool,
    /// A stop that could not be journaled. The end names it, if there is no room for its own record until then.
    pub stop: Option<StopRequest>,
}

/// What the end of a job says about its attempts.
#[derive(Debug)]
pub struct LastAttempt {
    /// Which was the last, if not the first.
    pub number: Option<u32>,
    /// Why no other followed, if the rule for restarts does not say it.
    pub why: Option<String>,
}

/// Everything that the leader wrote is in the output file.
#[derive(Debug)]
pub struct Drained(Exited);

/// The output is on the disk.
#[derive(Debug)]
pub struct Synced(Exited);

/// The end is in the journal, on the disk.
#[derive(Debug)]
pub struct Recorded {
    at: Moment,
}

impl Exited {
    /// Takes all output that there is, with `take`. A feed that cannot be read has nothing to lose: the end must be
    /// recorded in any case.
    pub fn drain(self, job: &mut KeptJob, take: impl FnOnce(&mut KeptJob)) -> Drained {
        job.reach(Hook::LeaderEnded);
        take(job);
        job.reach(Hook::Drained);
        Drained(self)
    }
}

impl Drained {
    pub fn sync(self, job: &KeptJob, capture: &Capture) -> Synced {
        // A disk that cannot sync the output may still take the outcome, which matters more.
        let _ = capture.sync();
        job.reach(Hook::OutputSynced);
        Synced(self.0)
    }
}

impl Synced {
    /// Fails only if the journal cannot be written. Then recording can be tried again, since the leader is not reaped
    /// yet.
    pub fn record(
        self,
        findable: Findable,
        job: &mut KeptJob,
        output: &mut Output,
        lingering: Option<u32>,
        last: LastAttempt,
    ) -> io::Result<Recorded> {
        let (at, rings) = (self.0.at, self.0.rings);
        let since = job.state().started();
        let end = End {
            attempt: last.number,
            not_restarted: last.why,
            ..self.end(job, output, lingering, since)
        };
        let after = match (lingering, output.capture.feed()) {
            (Some(0), Feed::Ended) if !rings => Remaining::Nothing,
            _ => Remaining::Lingering,
        };
        ending::record(findable, job.ledger.journal(), at, end, after)?;
        job.reach(Hook::EndedRecorded);
        Ok(Recorded { at })
    }

    /// Everything about the end of a job, or of an attempt, that began at `since`.
    pub fn end(
        self,
        job: &mut KeptJob,
        output: &mut Output,
        lingering: Option<u32>,
        since: Option<Moment>,
    ) -> End {
        let Exited {
            at, ended, stop, ..
        } = self.0;
        let dropped_bytes = journal_gaps(job, output);
        let capture = &output.capture;
        let state = job.state();
        let ender = match &ended.outcome {
            Outcome::Lost { .. } => Ender::unknown(),
            outcome => memory::ender(job, outcome, stop.as_ref()),
        };
        End {
            duration_ms: ended.duration_ms(since, at),
            outcome: ended.outcome,
            ended_by: ender.by,
            ended_by_detail: ender.detail,
            ended_by_session: ender.session,
            output_bytes: capture.size(),
            dropped_bytes,
            output_complete: output.is_complete(),
            lingering: lingering.unwrap_or(0),
            usage: memory::completed(state, ended.usage),
            attempt: None,
            not_restarted: None,
        }
    }
}

impl Recorded {
    /// For a keeper that finds its predecessor's end in the journal.
    pub fn found(at: Moment) -> Recorded {
        Recorded { at }
    }

    /// Publishes the end. If that fails (on a full disk, for example), the link among the running jobs stays, and
    /// others repair it.
    pub fn publish(&self, job: &KeptJob) -> io::Result<Noted> {
        let (directory, spec) = job.shared.asked();
        ending::note(directory, Some(spec), self.at.wall)?;
        job.reach(Hook::Noted);
        if job.is_closed() {
            ending::retire(directory, Some(spec), job.state().confined.as_ref())?;
            job.reach(Hook::Retired);
        }
        Ok(Noted)
    }
}

/// Proof that the end is where `list` looks for it.
#[derive(Clone, Copy, Debug)]
pub struct Noted;

/// The last thing a keeper does for a job that lingered: the output is final.
pub fn close(job: &mut KeptJob, output: &mut Output, noted: Option<Noted>) -> io::Result<()> {
    let _ = output.capture.sync();
    let dropped_bytes = journal_gaps(job, output);
    let closed = Event::Closed {
        output_bytes: output.capture.size(),
        dropped_bytes,
        output_complete: output.is_complete(),
    };
    job.ledger.journal().append(clock::moment(), &[closed])?;
    job.ledger.journal().sync()?;
    job.reach(Hook::Closed);
    let (directory, spec) = job.shared.asked();
    if let (None, Some(at)) = (noted, job.state().ended_at()) {
        ending::note(directory, Some(spec), at.wall)?;
    }
    ending::retire(directory, Some(spec), job.state().confined.as_ref())?;
    job.reach(Hook::Retired);
    Ok(())
}

/// Journals the gaps that are not journaled yet, if there is room. Returns how many bytes are missing in all,
/// including the dropped middle.
fn journal_gaps(job: &mut KeptJob, output: &mut Output) -> u64 {
    let middle = output.dropped(job);
    let capture = &mut output.capture;
    let gaps = capture.gaps();
    let unjournaled = match gaps.is_empty() || job.ledger.write(&gaps).is_ok() {
        true => 0,
        false => capture.unjournaled(),
    };
    if unjournaled == 0 {
        capture.gaps_are_journaled();
    }
    job.state().missing_bytes(&middle) + unjournaled
}
