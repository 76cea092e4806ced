//! `ack`: the session was told.

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::inbox::{Inbox, ack_of_any_session};
use outlive::verbs::inbox;
use outlive_api::request;
use outlive_api::rpc::{AckAny, Acked};

pub struct Ack;

impl Verb for Ack {
    type Request = AckAny;
    type Reply = Acked;
    const NAME: &'static str = "inbox/ack";
    const ABOUT: &'static str =
        "Record that sessions were told of events. They are never delivered again.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: AckAny) -> Result<Acked, Refused> {
        let ack = request::Ack {
            events: asked.events,
            jobs: asked.jobs,
            delivered: asked.delivered,
        };
        match asked.session {
            Some(session) => inbox::ack(&Inbox::open(&call.recording, session)?, &ack)?,
            None => ack_of_any_session(&call.recording, &ack)?,
        };
        Ok(Acked { acked: true })
    }
}
