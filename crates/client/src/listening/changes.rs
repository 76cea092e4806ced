//! The changes of a list of jobs.

use super::{Rung, Wanted};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::verbs::list::{self, Filter, Selector, StateFilter};
use crate::verbs::show;
use outlive_api::job::Job;
use outlive_core::{JobId, State};
use std::collections::{BTreeMap, VecDeque};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The job is new, or something that its record says is.
    Job(Box<Job>),
    /// It was removed.
    Gone(JobId),
    /// All jobs that there were at the beginning have been given.
    Current,
}

/// A list of jobs, and what changes in it. Nothing here waits.
#[derive(Debug)]
pub struct Changes {
    outlive: Outlive,
    select: Selector,
    /// What was given of each job, without what changes all the time. Of an ended job, only that it was given.
    given: BTreeMap<JobId, Given>,
    /// What is to be given next.
    ready: VecDeque<Change>,
    /// The jobs that have begun to be wanted.
    new: Vec<JobId>,
    /// How many of the newest ended jobs to begin with, if it has not begun.
    begins_with: Option<usize>,
}

#[derive(Debug)]
enum Given {
    Running { job: Box<Job>, seq: u64 },
    Ended,
}

impl Changes {
    /// The selected jobs that run, and so many of the newest ended ones, to [begin](Changes::begin) with.
    pub fn new(outlive: &Outlive, select: Selector, ended: usize) -> Changes {
        Changes {
            outlive: outlive.clone().only_looking(),
            select,
            given: BTreeMap::new(),
            ready: VecDeque::new(),
            new: Vec::new(),
            begins_with: Some(ended),
        }
    }

    /// Whether the jobs were listed that there are.
    pub fn has_begun(&self) -> bool {
        self.begins_with.is_none()
    }

    /// Lists the jobs that there are, unless that was done. Call it when every later change is heard or rung.
    pub fn begin(&mut self) -> Result<(), Error> {
        let Some(ended) = self.begins_with.take() else {
            return Ok(());
        };
        for job in self.listed(ended)? {
            self.give(job, 0);
        }
        self.ready.push_back(Change::Current);
        Ok(())
    }

    fn listed(&self, ended: usize) -> Result<Vec<Job>, Error> {
        let filter = Filter {
            select: self.select.clone(),
            state: if ended == 0 {
                StateFilter::Running
            } else {
                StateFilter::All
            },
            limit: ended,
            ..Filter::default()
        };
        Ok(list::list(&self.outlive, &filter)?.jobs)
    }

    /// Gives the job, unless nothing is new about it.
    fn give(&mut self, job: Job, seq: u64) {
        let steady = Box::new(steady(&job));
        let is_new = match self.given.get_mut(&job.id) {
            Some(Given::Running {
                job: before,
                seq: known,
            }) => {
                *known = seq;
                *before != steady
            }
            // Only its record can have changed since.
            Some(Given::Ended) | None => true,
        };
        if !is_new {
            return;
        }
        let given = match job.has_ended() && job.lingering.unwrap_or(0) == 0 {
            true => Given::Ended,
            false => Given::Running { job: steady, seq },
        };
        let runs = matches!(given, Given::Running { .. });
        let before = self.given.insert(job.id.clone(), given);
        if runs && !matches!(before, Some(Given::Running { .. })) {
            self.new.push(job.id.clone());
        }
        self.ready.push_back(Change::Job(Box::new(job)));
    }

    /// This job, which runs, has news. Its state was read just now.
    pub fn heard(&mut self, id: &JobId, state: &State) -> Result<(), Error> {
        match self.given.get(id) {
            Some(Given::Running { .. }) => self.look(id, state.seq),
            Some(Given::Ended) | None => Ok(()),
        }
    }

    fn look(&mut self, id: &JobId, seq: u64) -> Result<(), Error> {
        match show::show(&self.outlive, id) {
            Ok(job) if self.select.admits(&job) => self.give(job, seq),
            // It was given another label, say. For this list it is as if it were removed.
            Ok(_) => self.remove(id),
            Err(error) if error.is_no_such_job() => self.remove(id),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn remove(&mut self, id: &JobId) {
        if self.given.remove(id).is_some() {
            self.ready.push_back(Change::Gone(id.clone()));
        }
    }

    /// Something was started, removed or changed without a keeper.
    pub fn rung(&mut self, rung: &Rung) -> Result<(), Error> {
        let ids = match rung {
            Rung::For(ids) => ids.clone(),
            Rung::ForAnything => {
                let mut ids: Vec<JobId> = self.given.keys().cloned().collect();
                ids.extend(self.listed(0)?.into_iter().map(|job| job.id));
                ids
            }
        };
        ids.iter().try_for_each(|id| self.look(id, 0))
    }

    /// The next change, if there is one.
    pub fn next_change(&mut self) -> Option<Change> {
        self.ready.pop_front()
    }

    /// The jobs of which news are wanted since the last call.
    pub fn new_jobs(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.new)
    }

    /// The news that are wanted of this job.
    pub fn wants(&self, id: &JobId) -> Option<Wanted> {
        match self.given.get(id)? {
            Given::Running { seq, .. } => Some(Wanted::events_after(*seq)),
            Given::Ended => None,
        }
    }
}

/// The job without what changes all the time.
fn steady(job: &Job) -> Job {
    let mut job = job.clone();
    job.duration_ms = None;
    job.usage = None;
    job.heard_at = None;
    job.output.bytes = 0;
    job.output.dropped_bytes = 0;
    job.output.dropped_by_limit_bytes = 0;
    job
}
