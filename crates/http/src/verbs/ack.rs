//! `ack`: the session was told.

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::inbox::Inbox;
use outlive::verbs::inbox;
use outlive_api::request::{self, ForSession};
use schemars::JsonSchema;
use serde::Serialize;

pub struct Ack;

/// What `ack` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Acked {
    /// It is recorded. Always `true`.
    acked: bool,
}

impl Verb for Ack {
    type Request = ForSession<request::Ack>;
    type Reply = Acked;
    const NAME: &'static str = "inbox/ack";
    const ABOUT: &'static str =
        "Record that a session was told of events. They are never delivered again.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<Acked, Refused> {
        let inbox = Inbox::open(&call.recording, asked.session)?;
        inbox::ack(&inbox, &asked.request)?;
        Ok(Acked { acked: true })
    }
}
