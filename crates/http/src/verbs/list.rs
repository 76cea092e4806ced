//! `list`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::list;
use outlive_api::job::JobList;
use outlive_api::request::Filter;

pub struct List;

impl Verb for List {
    type Request = Filter;
    type Reply = JobList;
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List running jobs, and the ended ones, the newest end first.";
    const NEEDS: Needs = Needs::Look;

    fn call(call: &Call, asked: Filter) -> Result<JobList, Refused> {
        let jobs = list::list(&call.visit.outlive, &asked)?.jobs;
        Ok(JobList { jobs })
    }
}
