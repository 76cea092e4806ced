//! `label`

use super::{Call, Needs, Verb, some_jobs};
use crate::failure::Refused;
use outlive::verbs::label;
use outlive_api::job::JobList;
use outlive_api::request::{ChangeLabels, ForJobs};

pub struct Label;

impl Verb for Label {
    type Request = ForJobs<ChangeLabels>;
    type Reply = JobList;
    const NAME: &'static str = "label";
    const ABOUT: &'static str = "Change the labels of jobs, which may have ended.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<JobList, Refused> {
        let ids = some_jobs(&call.visit, &asked.jobs, asked.select.as_ref())?;
        let each = ids.iter();
        let changed = each.map(|id| label::label(&call.visit.outlive, id, &asked.request));
        Ok(JobList {
            jobs: changed.collect::<Result<_, _>>()?,
        })
    }
}
