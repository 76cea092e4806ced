//! `follow_jobs`: a list of jobs, and every change in it.

use super::stream::{Continues, Stream, Turn};
use crate::calls::{Call, Refused};
use crate::under_way::Request;
use outlive::api::rpc::{FollowJobs, JobChange};
use outlive::listening::{Change, Changes, Rung, State, Wanted};
use outlive::{Error, JobId};
use std::sync::Arc;

/// A list that is followed.
#[derive(Debug)]
struct Jobs {
    call: Arc<Call>,
    changes: Changes,
    failed: Option<Error>,
}

pub fn follow_jobs(call: &Arc<Call>) -> Result<Stream, Refused> {
    let FollowJobs { select, ended } = call.read()?;
    let jobs = Jobs {
        call: call.clone(),
        changes: Changes::new(&call.outlive, select, ended),
        failed: None,
    };
    Ok(Stream::new(&call.request, jobs))
}

impl Jobs {
    fn note(&mut self, done: Result<(), Error>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }
}

impl Continues for Jobs {
    fn listens_to_home(&self) -> bool {
        true
    }

    fn rung(&mut self, rung: &Rung) {
        let done = self.changes.rung(rung);
        self.note(done);
    }

    fn heard(&mut self, id: &JobId, state: Result<&State, &Error>) {
        let done = match state {
            Ok(state) => self.changes.heard(id, state),
            Err(_) => self.changes.rung(&Rung::For(vec![id.clone()])),
        };
        self.note(done);
    }

    fn new_jobs(&mut self) -> Vec<JobId> {
        self.changes.new_jobs()
    }

    fn wants(&self, id: &JobId) -> Option<Wanted> {
        self.changes.wants(id)
    }

    fn is_slow(&self) -> bool {
        // A list asks every keeper, and every place.
        !self.changes.has_begun()
    }

    fn turn(&mut self, request: &Request) -> Turn {
        let begun = self.changes.begin();
        self.note(begun);
        if let Some(error) = self.failed.take() {
            return Turn::refuse(&self.call.request, error.failure());
        }
        while request.has_room() {
            let part = match self.changes.next_change() {
                None => break,
                Some(Change::Job(job)) => JobChange::Job { job },
                Some(Change::Gone(gone)) => JobChange::Gone { gone },
                Some(Change::Current) => JobChange::Current { current: true },
            };
            if request.part(part, None).is_err() {
                return Turn::unwanted();
            }
        }
        Turn::Sleeps
    }
}
