//! `resize`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::resize;
use outlive_api::reply::ResizeReply;
use outlive_api::request::ForJob;
use outlive_api::terminal::Size;

pub struct Resize;

impl Verb for Resize {
    type Request = ForJob<Size>;
    type Reply = ResizeReply;
    const NAME: &'static str = "resize";
    const ABOUT: &'static str = "Change the size of a job's terminal.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<ResizeReply, Refused> {
        let id = call.visit.find(asked.job.as_str())?;
        resize::resize(&call.visit.outlive, &id, asked.request)?;
        Ok(ResizeReply {
            id,
            size: asked.request,
        })
    }
}
