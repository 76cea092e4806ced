//! `watch`

use super::{Call, Needs, Verb, some_jobs};
use crate::failure::Refused;
use outlive::verbs::watch;
use outlive_api::job::JobList;
use outlive_api::request::{ChangeWatch, ForJobs};

pub struct Watch;

impl Verb for Watch {
    type Request = ForJobs<ChangeWatch>;
    type Reply = JobList;
    const NAME: &'static str = "watch";
    const ABOUT: &'static str =
        "Change what running jobs are watched for, and of which ends their session is told.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<JobList, Refused> {
        let ids = some_jobs(&call.visit, &asked.jobs, asked.select.as_ref())?;
        let each = ids.iter();
        let changed = each.map(|id| watch::watch(&call.visit.outlive, id, &asked.request));
        Ok(JobList {
            jobs: changed.collect::<Result<_, _>>()?,
        })
    }
}
