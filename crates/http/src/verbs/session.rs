//! `session end`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::inbox::Inbox;
use outlive::verbs::session;
use outlive_api::reply::SessionEndReply;
use outlive_api::request::{EndSession, ForSession};

pub struct End;

impl Verb for End {
    type Request = ForSession<EndSession>;
    type Reply = SessionEndReply;
    const NAME: &'static str = "session/end";
    const ABOUT: &'static str = "Close a session: nobody will read its inbox again.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<SessionEndReply, Refused> {
        let inbox = Inbox::open(&call.recording, asked.session)?;
        let ended = session::end(&inbox, &asked.request)?;
        Ok(SessionEndReply::from(&ended))
    }
}
