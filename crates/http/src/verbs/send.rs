//! `send`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::send;
use outlive_api::reply::SendReply;
use outlive_api::request::{self, ForJob};

pub struct Send;

impl Verb for Send {
    type Request = ForJob<request::Send>;
    type Reply = SendReply;
    const NAME: &'static str = "send";
    const ABOUT: &'static str =
        "Write to the input of a job. A second request with the same `write_id` writes nothing.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<SendReply, Refused> {
        let id = call.visit.find(asked.job.as_str())?;
        let sent = send::send(&call.visit.outlive, &id, &asked.request)?;
        Ok(SendReply {
            id,
            sent: true,
            repeated: sent.repeated,
        })
    }
}
