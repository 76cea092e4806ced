//! `wait`: answered when it has come, without a thread or a connection of its own.

use super::stream::{Continues, Stream, Turn};
use crate::calls::{Call, Refused, jobs_of};
use crate::under_way::Request;
use outlive::api::failure::Failure;
use outlive::api::reply::WaitReply;
use outlive::api::request::{ForJobs, Wait};
use outlive::listening::{BootTime, State, Waiting, Wanted};
use outlive::{Error, JobId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The ends of so many jobs are reserved for the answers to waits: it costs two descriptors for each. The ends of others
/// may be told by somebody else at the same moment.
const MOST_RESERVED: usize = 4;

static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// A wait that is under way.
#[derive(Debug)]
struct Waits {
    call: Arc<Call>,
    waiting: Option<Waiting>,
    reserved: usize,
    /// The jobs for which it has not come.
    wanted: HashMap<JobId, Wanted>,
    new: Vec<JobId>,
    failed: Option<Failure>,
}

pub fn wait(call: &Arc<Call>) -> Result<Stream, Refused> {
    let asked: ForJobs<Wait> = call.read()?;
    let ids = jobs_of(&call.outlive, asked.jobs, asked.select.as_ref())?;
    // Only a session can be told twice.
    let wanted = if call.speaker.is_some() { ids.len() } else { 0 };
    let reserved = reserve(wanted);
    let waiting = Waiting::begin(&call.outlive, &ids, asked.request, reserved);
    let waits = Waits {
        call: call.clone(),
        waiting: Some(waiting),
        reserved,
        wanted: HashMap::new(),
        new: ids,
        failed: None,
    };
    Ok(Stream::new(&call.request, waits))
}

/// Takes as many of the reservations as there are.
fn reserve(wanted: usize) -> usize {
    let take = |taken: usize| Some(taken + wanted.min(MOST_RESERVED.saturating_sub(taken)));
    let order = Ordering::Relaxed;
    let before = RESERVED
        .fetch_update(order, order, take)
        .unwrap_or(MOST_RESERVED);
    wanted.min(MOST_RESERVED.saturating_sub(before))
}

impl Drop for Waits {
    fn drop(&mut self) {
        RESERVED.fetch_sub(self.reserved, Ordering::Relaxed);
    }
}

impl Continues for Waits {
    fn heard(&mut self, id: &JobId, state: Result<&State, &Error>) {
        let Some(waiting) = &mut self.waiting else {
            return;
        };
        let looked = match state {
            Ok(state) => waiting.look(id, state).map_err(|error| error.failure()),
            Err(error) => Err(error.failure()),
        };
        self.wanted.remove(id);
        match looked {
            Ok(Some(wanted)) => drop(self.wanted.insert(id.clone(), wanted)),
            Ok(None) => {}
            Err(failure) => drop(self.failed.get_or_insert(failure)),
        }
    }

    fn input_awaited(&mut self, id: &JobId) {
        if let Some(waiting) = &mut self.waiting {
            waiting.input_awaited(id);
        }
    }

    fn new_jobs(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.new)
    }

    fn wants(&self, id: &JobId) -> Option<Wanted> {
        self.wanted.get(id).copied()
    }

    fn look_at(&self) -> Option<BootTime> {
        self.waiting.as_ref()?.deadline()
    }

    fn turn(&mut self, _: &Request) -> Turn {
        if let Some(failure) = self.failed.take() {
            return Turn::refuse(&self.call.request, failure);
        }
        let Some(waiting) = self.waiting.take_if(|waiting| waiting.is_over()) else {
            return Turn::Sleeps;
        };
        let call = self.call.clone();
        Turn::Over(Box::new(move || answer(&call, waiting)))
    }
}

fn answer(call: &Call, waiting: Waiting) {
    let waited = match waiting.finish() {
        Ok(waited) => waited,
        Err(error) => {
            call.request.refuse(error.failure());
            return;
        }
    };
    let met = waited.jobs.iter().zip(&waited.met);
    let met = met.filter(|(_, met)| **met);
    let reply = WaitReply {
        met: met.map(|(job, _)| job.id.clone()).collect(),
        jobs: waited.jobs,
        events: waited.events,
        out_of_time: waited.out_of_time,
    };
    let _ = call.answer_telling(reply, Vec::new(), vec![waited.receipt]);
}
