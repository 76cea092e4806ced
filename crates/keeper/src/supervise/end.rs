//! The job's end as this keeper knows it: noticing it, and recording it once.

use crate::clock;
use crate::hooks::Hook;
use crate::output::capture::Feed;
use crate::start::leader::{EndMoment, Leader};
use crate::supervise::ending::{Exited, Noted, Recorded};
use crate::supervise::keeper::Keeper;
use crate::supervise::tail::Tail;
use outlive_core::event::Moment;
use std::io;

/// The end of the leader, and what is left of the job.
#[derive(Debug)]
pub(crate) struct End {
    stage: Stage,
    tail: Tail,
}

/// How far the leader's end has come.
#[derive(Debug)]
enum Stage {
    /// This keeper has not seen the end: the leader runs, has not been started, or its end is being looked up.
    NotSeen,
    /// The leader has ended. A disk may take a long time to accept that, or refuse it.
    Seen {
        /// When it was first seen.
        at: Moment,
        /// Why it could not be recorded at the last try.
        failure: Option<String>,
    },
    /// The end is in the journal.
    Recorded {
        noted: Option<Noted>,
        kept: KeptSince,
    },
}

/// Since when this keeper knows which processes the job has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptSince {
    /// It took over after the end, and has not seen any process of the job.
    Unseen,
    /// It took over after the end, and has seen a process of the job run.
    Seen,
    /// It recorded the end itself.
    TheEnd,
}

impl End {
    pub fn new() -> End {
        End {
            stage: Stage::NotSeen,
            tail: Tail::Unknown,
        }
    }

    pub fn tail(&self) -> Tail {
        self.tail
    }

    pub fn set_tail(&mut self, tail: Tail) {
        self.tail = tail;
    }

    /// Something may have changed, so the processes that are left must be looked for again.
    pub fn look_again(&mut self) {
        self.tail = Tail::Unknown;
    }

    /// The leader was seen to have ended at this time. The first time counts, and is returned.
    pub fn see(&mut self, at: impl FnOnce() -> Moment) -> Moment {
        match &self.stage {
            Stage::Seen { at, .. } => *at,
            Stage::NotSeen => {
                let at = at();
                self.stage = Stage::Seen { at, failure: None };
                at
            }
            Stage::Recorded { .. } => at(),
        }
    }

    pub fn could_not_record(&mut self, error: &io::Error) {
        if let Stage::Seen { failure, .. } = &mut self.stage {
            *failure = Some(error.to_string());
        }
    }

    /// Why the end could not be recorded, if it was tried and is not recorded yet.
    pub fn unrecorded(&self) -> Option<&str> {
        match &self.stage {
            Stage::Seen { failure, .. } => failure.as_deref(),
            Stage::NotSeen | Stage::Recorded { .. } => None,
        }
    }

    pub fn is_unrecorded(&self) -> bool {
        self.unrecorded().is_some()
    }

    /// The end of an attempt is in the journal, and the job goes on.
    pub fn is_of_attempt(&mut self) {
        self.stage = Stage::NotSeen;
    }

    /// The end is in the journal.
    fn record(&mut self, kept: KeptSince) {
        self.stage = Stage::Recorded { noted: None, kept };
    }

    /// A predecessor has recorded the end; `noted` where this keeper has published it.
    pub fn found(&mut self, noted: Option<Noted>) {
        let kept = KeptSince::Unseen;
        self.stage = Stage::Recorded { noted, kept };
    }

    /// The end can be found by others, or that failed.
    fn publish(&mut self, now_noted: Option<Noted>) {
        if let Stage::Recorded { noted, .. } = &mut self.stage {
            *noted = now_noted;
        }
    }

    pub fn noted(&self) -> Option<Noted> {
        match self.stage {
            Stage::Recorded { noted, .. } => noted,
            Stage::NotSeen | Stage::Seen { .. } => None,
        }
    }

    pub fn kept_since(&self) -> KeptSince {
        match self.stage {
            Stage::Recorded { kept, .. } => kept,
            // The journal has the end, but this keeper could not make sure that it is on the disk.
            Stage::NotSeen | Stage::Seen { .. } => KeptSince::Unseen,
        }
    }

    /// Some process of the ended job still runs.
    pub fn has_seen_lingering(&mut self) {
        if self.kept_since() == KeptSince::Unseen {
            let noted = self.noted();
            let kept = KeptSince::Seen;
            self.stage = Stage::Recorded { noted, kept };
        }
    }
}

impl Keeper<'_> {
    /// Records the end, if the leader has ended.
    pub(crate) fn look_at_leader(&mut self) -> io::Result<()> {
        if self.job.has_ended() {
            return Ok(());
        }
        let Some(ended) = self.leader.look()? else {
            return Ok(());
        };
        if let Some(next_at) = self.next_attempt(&ended) {
            return self.end_attempt(ended, next_at);
        }
        // If recording was tried before, the leader ended when that was first tried.
        let at = self.end.see(clock::moment);
        if let (Some(foreign), EndMoment::Seen) = (&self.processes.tree.foreign, ended.moment) {
            foreign.leader_ended(at.boot);
        }
        let last = self.last_attempt(&ended);
        let exited = Exited {
            at,
            rings: self.has_doorbells_for(&ended.outcome),
            stop: self.stop.unwritten_request().cloned(),
            ended,
        };
        let synced = exited
            .drain(&mut self.job, |job| self.output.drain(job, &mut self.signs))
            .sync(&self.job, &self.output.capture);
        self.output.pass_on(&mut self.job, &mut self.signs, true);
        self.signs.finish(&mut self.job);
        self.errands.kill_probe();
        let lingering = self.count_lingering();
        // As soon as the end can be read, another job may be given the same log.
        if lingering == Some(0) && self.output.capture.feed() == Feed::Ended {
            self.output.release_log();
        }
        let (directory, spec) = self.job.shared.asked();
        let findable = self.pair.finding.done(directory, spec);
        self.write_stop();
        let recorded = synced
            .record(findable, &mut self.job, &mut self.output, lingering, last)
            .inspect_err(|error| self.end.could_not_record(error))?;
        self.end.record(KeptSince::TheEnd);
        self.job.release_turns();
        self.tell_of_end(&recorded)
    }

    /// How many processes of the job run beside its leader. `None` if they cannot be counted, which must not keep the
    /// end from being recorded.
    pub(super) fn count_lingering(&self) -> Option<u32> {
        let tree = &self.processes.tree;
        let members = match (&self.leader, self.job.state().phase.leader()) {
            (Leader::NotStarted(_), _) => Ok(Vec::new()),
            (Leader::Child(_), Some(leader)) => tree.members_beside(leader.process.pid),
            _ => tree.members(),
        };
        members.ok().map(|members| members.len() as u32)
    }

    /// The end is on the disk. Tells everybody, reaps the leader, and stops what is left if the spec asks for that.
    fn tell_of_end(&mut self, recorded: &Recorded) -> io::Result<()> {
        self.end.publish(recorded.publish(&self.job).ok());
        self.clients
            .tell_news(self.job.state().seq, self.output.capture.size());
        self.look_for_input()?;
        // Processes that are left must not wait for input that will not come.
        self.job.shared.channel.close();
        self.job.reach(Hook::Told);
        self.leader.reap();
        self.job.reach(Hook::Reaped);
        self.end.look_again();
        self.stop_leftovers()
    }
}
