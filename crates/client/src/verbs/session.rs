//! Close a session: nobody will come for what waits in its inbox.

use crate::error::Error;
use crate::inbox::Inbox;
use crate::verbs::list::{self, Filter, Which};
use crate::verbs::stop::{self, Stop};
use outlive_core::JobId;

/// What becomes of what waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// It stays to be read.
    #[default]
    Keep,
    Drop,
}

/// What becomes of jobs that still run.
#[derive(Clone, Debug, Default)]
pub enum Running {
    /// They go on, and their ends are told or dropped like the rest.
    #[default]
    Leave,
    Stop(Stop),
}

/// What closing a session came to.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How many events were dropped.
    pub dropped: usize,
    /// How many still wait.
    pub kept: usize,
    pub stopped: Vec<JobId>,
    pub still_running: Vec<JobId>,
}

pub fn end(inbox: &Inbox<'_>, waiting: Waiting, running: &Running) -> Result<Ended, Error> {
    let jobs = running_jobs(inbox)?;
    let (stopped, still_running) = match running {
        Running::Leave => (Vec::new(), jobs),
        Running::Stop(how) => {
            stop::stop(inbox.outlive(), &jobs, how)?;
            (jobs, Vec::new())
        }
    };
    let dropped = match waiting {
        Waiting::Keep => 0,
        Waiting::Drop => inbox.close()?,
    };
    Ok(Ended {
        dropped,
        kept: inbox.waiting()?,
        stopped,
        still_running,
    })
}

fn running_jobs(inbox: &Inbox<'_>) -> Result<Vec<JobId>, Error> {
    let filter = Filter {
        session: Some(inbox.session().clone()),
        state: Which::Running,
        ..Filter::default()
    };
    let jobs = list::list(inbox.outlive(), &filter)?.jobs;
    Ok(jobs.into_iter().map(|job| job.id).collect())
}
