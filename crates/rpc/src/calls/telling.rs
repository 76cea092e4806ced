//! Inboxes, posts and sessions.

use super::{Call, Refused};
use outlive::api::reply::{PostReply, SessionEndReply};
use outlive::api::request::{Ack, EndSession, ForSession, NewPost};
use outlive::api::rpc::{AckAny, Acked};
use outlive::inbox::{Inbox, ack_of_any_session};
use outlive::verbs::post::Posted;
use outlive::verbs::{inbox, post, session};

pub fn ack(call: &Call) -> Result<(), Refused> {
    let AckAny {
        session,
        events,
        jobs,
        delivered,
    } = call.read()?;
    let asked = Ack {
        events,
        jobs,
        delivered,
    };
    let problems = match session {
        Some(session) => inbox::ack(&Inbox::open(&call.outlive, session)?, &asked)?,
        None => ack_of_any_session(&call.outlive, &asked)?,
    };
    let notes = problems.iter().map(|(id, why)| format!("{id} {why}"));
    call.answer_with(Acked { acked: true }, notes.collect())
}

pub fn post(call: &Call) -> Result<(), Refused> {
    let asked: NewPost = call.read()?;
    if !asked.data.is_object() {
        return Err(Refused::bad(
            "`data` is a JSON object with everything that the session should be told",
        ));
    }
    let (event, posted) = post::post(&call.outlive, asked)?;
    call.answer(PostReply {
        event,
        posted: posted == Posted::Now,
    })
}

pub fn session_end(call: &Call) -> Result<(), Refused> {
    let ForSession { session, request } = call.read::<ForSession<EndSession>>()?;
    let inbox = Inbox::open(&call.outlive, session)?;
    let ended = session::end(&inbox, &request)?;
    let reply = SessionEndReply::from(&ended);
    call.answer_telling(reply, Vec::new(), ended.receipts)
}
