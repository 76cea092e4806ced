//! `stop`

use super::{Call, Needs, Verb, some_jobs};
use crate::failure::{Refused, failure};
use outlive::verbs::stop::{self, Stops};
use outlive_api::reply::{StopFailure, StopReply};
use outlive_api::request::{self, ForJobs};

/// Who asked, for the record of the job.
pub const WHO: &str = "outlive serve";

pub struct Stop;

impl Verb for Stop {
    type Request = ForJobs<request::Stop>;
    type Reply = StopReply;
    const NAME: &'static str = "stop";
    const ABOUT: &'static str = "Stop jobs with all their processes: TERM, then KILL after the grace period. The reply \
        comes when no process is left.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<StopReply, Refused> {
        let ids = some_jobs(&call.visit, &asked.jobs, asked.select.as_ref())?;
        let how = request::Stop {
            detail: asked.request.detail.or_else(|| Some(WHO.to_owned())),
            ..asked.request
        };
        let Stops { stopped, failed } = stop::stop_all(&call.visit.outlive, &ids, &how);
        let failed = failed.into_iter().map(|(id, error)| StopFailure {
            id,
            error: failure(&error),
        });
        Ok(StopReply {
            jobs: stopped.into_iter().map(|one| one.job).collect(),
            failed: failed.collect(),
        })
    }
}
