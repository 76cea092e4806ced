//! `show`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::show;
use outlive_api::job::JobView;
use outlive_api::request::{self, ForJob};

pub struct Show;

impl Verb for Show {
    type Request = ForJob<request::Show>;
    type Reply = JobView;
    const NAME: &'static str = "show";
    const ABOUT: &'static str = "Show one job as it is now, with the end of its output.";
    const NEEDS: Needs = Needs::Look;

    fn call(call: &Call, asked: Self::Request) -> Result<JobView, Refused> {
        let id = call.visit.find(asked.job.as_str())?;
        Ok(show::view(&call.visit.outlive, &id, asked.request)?)
    }
}
