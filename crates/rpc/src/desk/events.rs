//! `follow_events`: the events of sessions as they come. `inbox`: those that wait, or the first ones that come.

use super::stream::{Continues, Stream, Turn};
use crate::calls::{Call, Refused};
use crate::under_way::Request;
use outlive::api::event::{Event, Events};
use outlive::api::request::{ForSession, Take};
use outlive::api::rpc::FollowEvents;
use outlive::inbox::{Delivery, Inbox};
use outlive::listening::{BootTime, Rung, Scope, State, Telling, Wanted};
use outlive::verbs::inbox as verb;
use outlive::{Error, JobId, clock};
use std::sync::Arc;
use std::time::Duration;

/// So many events are claimed at once. The next ones are claimed when these have been sent.
const AT_ONCE: usize = 64;

/// Events that are followed.
#[derive(Debug)]
struct Follow {
    call: Arc<Call>,
    telling: Telling,
    only_looks: bool,
    /// `inbox` ends with the first events, or then.
    once: Option<Once>,
}

#[derive(Clone, Copy, Debug)]
struct Once {
    limit: usize,
    until: Option<BootTime>,
}

pub fn follow_events(call: &Arc<Call>) -> Result<Stream, Refused> {
    let asked: FollowEvents = call.read()?;
    let scope = match asked.sessions {
        Some(sessions) => Scope::Sessions(sessions),
        None => Scope::All,
    };
    let outlive = match asked.peek {
        true => call.outlive.clone().only_looking(),
        false => call.outlive.clone(),
    };
    let follow = Follow {
        call: call.clone(),
        telling: Telling::open(&outlive, scope, asked.claim)?,
        only_looks: asked.peek,
        once: None,
    };
    Ok(Stream::new(&call.request, follow))
}

pub fn inbox(call: &Arc<Call>) -> Result<Stream, Refused> {
    let ForSession { session, request } = call.read::<ForSession<Take>>()?;
    if request.timeout == Some(Duration::ZERO) {
        let inbox = Inbox::open(&call.outlive, session)?;
        let delivery = verb::take(&inbox, request.selection)?;
        answer(call, delivery);
        return Ok(Stream::new(&call.request, Nothing));
    }
    let follow = Follow {
        call: call.clone(),
        telling: Telling::open(&call.outlive, Scope::Sessions(vec![session]), None)?
            .skipping_shown(request.selection.skip_shown),
        only_looks: false,
        once: Some(Once {
            limit: request.selection.limit.unwrap_or(usize::MAX),
            until: request.timeout.map(|timeout| clock::boot() + timeout),
        }),
    };
    Ok(Stream::new(&call.request, follow))
}

/// Sends everything that was taken, and records that it was delivered.
fn answer(call: &Call, delivery: Delivery) {
    let reply = Events {
        events: delivery.events().to_vec(),
        dropped: delivery.last().map(|(event, _)| event.clone()).collect(),
    };
    if call.request.answer(reply, problems(&delivery), false) {
        delivered(delivery);
    }
}

fn problems(delivery: &Delivery) -> Vec<String> {
    let problems = delivery.problems();
    problems.map(|(id, why)| format!("{id} {why}")).collect()
}

/// If this fails, on a full disk for example, the events are told again.
fn delivered(delivery: Delivery) {
    let _ = delivery.delivered();
}

impl Continues for Follow {
    fn listens_to_home(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        // What came since it was opened.
        let _ = self.telling.rung(&Rung::ForAnything);
    }

    fn rung(&mut self, rung: &Rung) {
        // What cannot be read now is read when its time has come.
        let _ = self.telling.rung(rung);
    }

    fn heard(&mut self, id: &JobId, _: Result<&State, &Error>) {
        self.telling.heard(id);
    }

    fn new_jobs(&mut self) -> Vec<JobId> {
        self.telling.new_jobs()
    }

    fn wants(&self, id: &JobId) -> Option<Wanted> {
        self.telling.wants(id)
    }

    fn look_at(&self) -> Option<BootTime> {
        // What may not be sent now is not looked at.
        let room = self.call.request.has_room();
        let look = self.telling.look_at().filter(|_| room);
        let until = self.once.and_then(|once| once.until);
        look.into_iter().chain(until).min()
    }

    fn turn(&mut self, request: &Request) -> Turn {
        while request.has_room() {
            let limit = self.once.map_or(AT_ONCE, |once| once.limit);
            let delivery = match self.telling.take(limit) {
                Ok(Some(delivery)) => delivery,
                Ok(None) => break,
                Err(error) => return Turn::refuse(&self.call.request, error.failure()),
            };
            if delivery.is_empty() {
                continue;
            }
            if self.once.is_some() {
                let call = self.call.clone();
                return Turn::Over(Box::new(move || answer(&call, delivery)));
            }
            let send = |event: &Event| request.part(event, None);
            if delivery.events().iter().try_for_each(send).is_err() {
                return Turn::unwanted();
            }
            if !self.only_looks {
                // If this fails, they are told again, which they are anyway.
                let _ = self.telling.sent(delivery);
            }
        }
        let is_late = |until: BootTime| until <= clock::boot();
        if self.once.and_then(|once| once.until).is_some_and(is_late) {
            let request = self.call.request.clone();
            let nothing = Events::default();
            return Turn::Over(Box::new(move || {
                request.answer(nothing, Vec::new(), false);
            }));
        }
        Turn::Sleeps
    }
}

/// A stream that was answered before it began.
#[derive(Debug)]
struct Nothing;

impl Continues for Nothing {
    fn heard(&mut self, _: &JobId, _: Result<&State, &Error>) {}

    fn new_jobs(&mut self) -> Vec<JobId> {
        Vec::new()
    }

    fn wants(&self, _: &JobId) -> Option<Wanted> {
        None
    }

    fn turn(&mut self, _: &Request) -> Turn {
        Turn::unwanted()
    }
}
