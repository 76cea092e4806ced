//! `signal`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::signal::{self, Signaled};
use outlive_api::reply::SignalReply;
use outlive_api::request::{ForJob, SendSignal};

pub struct Signal;

impl Verb for Signal {
    type Request = ForJob<SendSignal>;
    type Reply = SignalReply;
    const NAME: &'static str = "signal";
    const ABOUT: &'static str = "Send one signal to every process of a job.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<SignalReply, Refused> {
        let id = call.visit.find(asked.job.as_str())?;
        let Signaled { reached, denied } = signal::signal(&call.visit.outlive, &id, asked.request)?;
        Ok(SignalReply {
            id,
            signal: asked.request.signal,
            reached,
            denied,
        })
    }
}
