//! Closes a session: nobody will read its inbox again.

use crate::error::Error;
use crate::home::outlive::{Caller, Outlive};
use crate::inbox::{Inbox, Receipt};
use crate::verbs::list::{self, Filter, Selector, StateFilter};
use crate::verbs::stop;
use outlive_api::reply::SessionEndReply;
pub use outlive_api::request::{EndSession, Running, Waiting};
use outlive_core::JobId;

/// The result of closing a session.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The number of dropped events.
    pub dropped: usize,
    /// The number of events that still wait.
    pub kept: usize,
    /// The jobs that were stopped.
    pub stopped: Vec<JobId>,
    /// The jobs that go on.
    pub still_running: Vec<JobId>,
    /// Call `told` on it after the answer is printed. Whoever closes a session speaks for it, so it
    /// need not be told about the jobs that were stopped.
    pub receipts: Vec<Receipt>,
}

impl From<&Ended> for SessionEndReply {
    fn from(ended: &Ended) -> SessionEndReply {
        SessionEndReply {
            dropped: ended.dropped,
            kept: ended.kept,
            stopped: ended.stopped.clone(),
            still_running: ended.still_running.clone(),
        }
    }
}

fn speaking_for(inbox: &Inbox) -> Outlive {
    let caller = Caller::Session(inbox.session().clone());
    inbox.outlive().clone().called_by(caller)
}

/// Closes a session.
pub fn end(inbox: &Inbox, asked: &EndSession) -> Result<Ended, Error> {
    if inbox.outlive().only_looks() {
        return Err(Error::OnlyLooking);
    }
    let home = inbox.outlive().home();
    let is_known = [home.session(inbox.session()), home.inbox(inbox.session())]
        .iter()
        .any(|path| path.exists());
    if !is_known {
        return Err(Error::NoSuchSession(inbox.session().to_string()));
    }
    let jobs = running_jobs(inbox)?;
    // Leave out the ends of jobs that are stopped now, since this answer tells them.
    let waited = inbox.waiting()?;
    let (stopped, still_running, receipts) = match &asked.running {
        Running::Leave => (Vec::new(), jobs, Vec::new()),
        Running::Stop(how) => {
            let stopped = stop::stop(&speaking_for(inbox), &jobs, how)?;
            let receipts = stopped.into_iter().map(|stopped| stopped.receipt);
            (jobs, Vec::new(), receipts.collect())
        }
    };
    let (dropped, kept) = match asked.waiting {
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
        select: Selector {
            session: Some(inbox.session().clone()),
            ..Selector::default()
        },
        state: StateFilter::Running,
        ..Filter::default()
    };
    let jobs = list::list(inbox.outlive(), &filter)?.jobs;
    Ok(jobs.into_iter().map(|job| job.id).collect())
}
