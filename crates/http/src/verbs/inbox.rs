//! `inbox`: what a session has not been told yet. This only looks; `ack` records that it was told.

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::inbox::Inbox as OfSession;
use outlive_api::event::Events;
use outlive_api::request::{ForSession, Take};
use std::time::{Duration, Instant};

/// How long to wait before looking whether the caller is still there.
const SLICE: Duration = Duration::from_secs(5);

pub struct Inbox;

impl Verb for Inbox {
    type Request = ForSession<Take>;
    type Reply = Events;
    const NAME: &'static str = "inbox";
    const ABOUT: &'static str = "Look at what a session has not been told yet, and wait for it if there is nothing. The \
        events stay in the inbox until they are acknowledged.";
    const NEEDS: Needs = Needs::LookAndWait;

    fn call(call: &Call, asked: Self::Request) -> Result<Events, Refused> {
        let inbox = OfSession::open(&call.visit.outlive, asked.session)?;
        let begun = Instant::now();
        loop {
            let limit = asked.request.timeout;
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            let slice = left.unwrap_or(SLICE).min(SLICE);
            let delivery = inbox.next(Take {
                timeout: Some(slice),
                ..asked.request
            })?;
            let is_last = left.is_some_and(|left| left <= slice);
            if !delivery.is_empty() || is_last || call.gone.is_cancelled() {
                return Ok(Events {
                    events: delivery.events().to_vec(),
                    dropped: delivery.last().map(|(event, _)| event.clone()).collect(),
                });
            }
        }
    }
}
