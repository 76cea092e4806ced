//! `adopt`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::adopt;
use outlive_api::job::Job;

pub struct Adopt;

impl Verb for Adopt {
    type Request = outlive_api::request::Adopt;
    type Reply = Job;
    const NAME: &'static str = "adopt";
    const ABOUT: &'static str = "Make a job of a process that runs already.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<Job, Refused> {
        Ok(adopt::adopt(&call.visit.outlive, asked)?.job)
    }
}
