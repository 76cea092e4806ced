//! `wait`

use super::{Call, Needs, Verb, jobs};
use crate::failure::Refused;
use outlive::verbs::wait::{self, Waited};
use outlive_api::reply::WaitReply;
use outlive_api::request::{self, ForJobs};
use std::time::{Duration, Instant};

/// How long to wait before looking whether the caller is still there.
const SLICE: Duration = Duration::from_secs(5);

pub struct Wait;

impl Verb for Wait {
    type Request = ForJobs<request::Wait>;
    type Reply = WaitReply;
    const NAME: &'static str = "wait";
    const ABOUT: &'static str = "Wait until jobs have ended, or until something else has come of them. Nobody counts as \
        told by the reply.";
    const NEEDS: Needs = Needs::LookAndWait;

    fn call(call: &Call, asked: Self::Request) -> Result<WaitReply, Refused> {
        let ids = jobs(&call.visit, &asked.jobs, asked.select.as_ref())?;
        let begun = Instant::now();
        loop {
            let left = asked
                .request
                .timeout
                .map(|limit| limit.saturating_sub(begun.elapsed()));
            let slice = left.unwrap_or(SLICE).min(SLICE);
            let how = request::Wait {
                timeout: Some(slice),
                ..asked.request
            };
            let waited = wait::wait(&call.visit.outlive, &ids, how)?;
            let is_last = left.is_some_and(|left| left <= slice);
            if !waited.out_of_time || is_last || call.gone.is_cancelled() {
                return Ok(reply(waited));
            }
        }
    }
}

fn reply(waited: Waited) -> WaitReply {
    let each = waited.jobs.iter().zip(&waited.met);
    let met = each.filter(|(_, met)| **met).map(|(job, _)| job.id.clone());
    WaitReply {
        met: met.collect(),
        jobs: waited.jobs,
        events: waited.events,
        out_of_time: waited.out_of_time,
    }
}
