//! `run`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::run;
use outlive_api::job::Job;

pub struct Run;

impl Verb for Run {
    type Request = outlive_api::request::Run;
    type Reply = Job;
    const NAME: &'static str = "run";
    const ABOUT: &'static str =
        "Start a job. The reply is the job as it was when its start was decided.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<Job, Refused> {
        Ok(run::run(&call.visit.outlive, asked)?.job)
    }
}
