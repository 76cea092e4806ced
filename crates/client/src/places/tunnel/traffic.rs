//! What is open on a wire, as its frames show. Both ends of a tunnel look at the frames that pass, to make as few calls
//! as they can: which of them is worth a call, and when the answer of a call is complete.

use outlive_core::far::Opening;
use outlive_core::wire::{Decoder, Frame, Kind, WireError};
use std::collections::HashMap;

/// The streams that are open.
#[derive(Debug, Default)]
pub struct Traffic {
    open: HashMap<u64, Carries>,
}

/// What a stream carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    /// Something that ends with its answer.
    Answer,
    /// The same, whose question is not complete yet.
    LongQuestion,
    /// A conversation with a keeper, whose client has said nothing yet.
    Control,
    /// The same after that.
    Conversation,
    /// News, for as long as the wire exists.
    Journals,
}

/// How soon a frame of the courier must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// With the next call.
    Later,
    Now,
}

impl Traffic {
    /// Notes a frame of the courier.
    pub fn note_sent(&mut self, frame: &Frame) -> Urgency {
        match (frame.kind, self.open.get(&frame.stream)) {
            (Kind::Open, _) => {
                let carries = match serde_json::from_slice(&frame.payload) {
                    Ok(Opening::Control { .. }) => Carries::Control,
                    Ok(Opening::Journals) => Carries::Journals,
                    Ok(Opening::LongCall) => Carries::LongQuestion,
                    // The far end answers also what it does not understand.
                    Ok(Opening::Call(_) | Opening::Bytes { .. }) | Err(_) => Carries::Answer,
                };
                self.open.insert(frame.stream, carries);
                match carries {
                    Carries::Answer => Urgency::Now,
                    // Its client speaks first.
                    Carries::Control
                    | Carries::Conversation
                    | Carries::LongQuestion
                    | Carries::Journals => Urgency::Later,
                }
            }
            (Kind::End, _) => {
                self.open.remove(&frame.stream);
                Urgency::Later
            }
            (Kind::Shut, Some(Carries::LongQuestion)) => {
                self.open.insert(frame.stream, Carries::Answer);
                Urgency::Now
            }
            (Kind::Data, Some(Carries::Control | Carries::Conversation)) => {
                self.open.insert(frame.stream, Carries::Conversation);
                Urgency::Now
            }
            _ => Urgency::Later,
        }
    }

    /// Notes a frame of the far end. Returns whether it may be what somebody waits for.
    pub fn note_received(&mut self, frame: &Frame) -> bool {
        let carries = self.open.get(&frame.stream).copied();
        match frame.kind {
            Kind::End => self.open.remove(&frame.stream).is_some(),
            Kind::Data => carries == Some(Carries::Conversation),
            // It takes no more of a long question before the rest is sent.
            Kind::Room => carries == Some(Carries::LongQuestion),
            Kind::Open | Kind::Shut | Kind::Ping | Kind::Pong => false,
        }
    }

    /// Whether the far end is going to say something, sooner or later.
    pub fn awaits(&self) -> bool {
        let speaks = |carries: &Carries| match carries {
            Carries::Answer | Carries::LongQuestion | Carries::Conversation => true,
            Carries::Control | Carries::Journals => false,
        };
        self.open.values().any(speaks)
    }

    /// Whether an answer is on its way, which has an end.
    pub fn awaits_answer(&self) -> bool {
        self.open
            .values()
            .any(|carries| *carries == Carries::Answer)
    }
}

/// The frames of one direction, as they pass.
#[derive(Debug, Default)]
pub struct Passing(Decoder);

impl Passing {
    /// Calls `look` for each frame that is complete with these bytes.
    pub fn look(&mut self, bytes: &[u8], mut look: impl FnMut(&Frame)) -> Result<(), WireError> {
        self.0.push(bytes);
        while let Some(frame) = self.0.next_frame()? {
            look(&frame);
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use outlive_core::JobId;
    use outlive_core::far::Call;

    fn opened(traffic: &mut Traffic, stream: u64, opening: &Opening) -> Urgency {
        let payload = serde_json::to_vec(opening).unwrap();
        traffic.note_sent(&Frame::new(stream, Kind::Open, payload))
    }

    #[test]
    fn a_call_is_worth_a_call_and_awaits_its_end() {
        let mut traffic = Traffic::default();
        let call = Opening::Call(Box::new(Call::Doctor));
        assert_eq!(opened(&mut traffic, 1, &call), Urgency::Now);
        assert!(traffic.awaits() && traffic.awaits_answer());
        assert!(!traffic.note_received(&Frame::new(1, Kind::Data, b"{}".as_slice())));
        assert!(traffic.note_received(&Frame::new(1, Kind::End, [])));
        assert!(!traffic.awaits());
        assert!(!traffic.note_received(&Frame::new(1, Kind::End, [])));
    }

    #[test]
    fn a_conversation_begins_with_its_first_word() {
        let mut traffic = Traffic::default();
        let job = JobId::parse("1abc").unwrap();
        let control = Opening::Control { job };
        assert_eq!(opened(&mut traffic, 1, &control), Urgency::Later);
        assert!(!traffic.awaits());
        let word = Frame::new(1, Kind::Data, b"{}".as_slice());
        assert_eq!(traffic.note_sent(&word), Urgency::Now);
        assert!(traffic.awaits() && !traffic.awaits_answer());
        assert!(traffic.note_received(&word));
        assert_eq!(
            traffic.note_sent(&Frame::new(1, Kind::End, [])),
            Urgency::Later
        );
        assert!(!traffic.awaits());
    }

    #[test]
    fn news_and_room_can_wait() {
        let mut traffic = Traffic::default();
        assert_eq!(opened(&mut traffic, 2, &Opening::Journals), Urgency::Later);
        let line = Frame::new(2, Kind::Data, b"{}\n".as_slice());
        assert_eq!(traffic.note_sent(&line), Urgency::Later);
        assert!(!traffic.note_received(&line));
        assert!(!traffic.awaits());
        assert_eq!(opened(&mut traffic, 3, &Opening::LongCall), Urgency::Later);
        assert!(traffic.awaits() && !traffic.awaits_answer());
        let shut = traffic.note_sent(&Frame::new(3, Kind::Shut, []));
        assert_eq!(shut, Urgency::Now);
        assert!(traffic.awaits_answer());
    }
}
