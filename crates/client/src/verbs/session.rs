//! Close a session: nobody will come for what waits in its inbox.

use crate::error::Error;
use crate::home::outlive::{Caller, Outlive};
use crate::inbox::{Inbox, Receipt};
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
    /// To be told once the answer is out: whoever ends a session speaks for it, so it need not be told of the
    /// ends of the jobs that were stopped.
    pub receipts: Vec<Receipt>,
}

fn speaking_for(inbox: &Inbox) -> Outlive {
    let caller = Caller::Session(inbox.session().clone());
    inbox.outlive().clone().called_by(caller)
}

pub fn end(inbox: &Inbox, waiting: Waiting, running: &Running) -> Result<Ended, Error> {
    let home = inbox.outlive().home();
    let is_known = [home.session(inbox.session()), home.inbox(inbox.session())]
        .iter()
        .any(|path| path.exists());
    if !is_known {
        return Err(Error::NoSuchSession(inbox.session().to_string()));
    }
    let jobs = running_jobs(inbox)?;
    // Without the ends of those that are stopped now, which this answer tells.
    let waited = inbox.waiting()?;
    let (stopped, still_running, receipts) = match running {
        Running::Leave => (Vec::new(), jobs, Vec::new()),
        Running::Stop(how) => {
            let stopped = stop::stop(&speaking_for(inbox), &jobs, how)?;
            let receipts = stopped.into_iter().map(|stopped| stopped.receipt);
            (jobs, Vec::new(), receipts.collect())
        }
    };
    let (dropped, kept) = match waiting {
        Waiting::Keep => (0, waited),
        Waiting::Drop => {
            inbox.close()?;
            (waited, 0)
        }
    };
    Ok(Ended {
        dropped,
        kept,
        stopped,
        still_running,
        receipts,
    })
}

fn running_jobs(inbox: &Inbox) -> Result<Vec<JobId>, Error> {
    let filter = Filter {
        session: Some(inbox.session().clone()),
        state: Which::Running,
        ..Filter::default()
    };
    let jobs = list::list(inbox.outlive(), &filter)?.jobs;
    Ok(jobs.into_iter().map(|job| job.id).collect())
}
