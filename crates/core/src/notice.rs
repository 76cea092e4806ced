//! Selects the events of a job's journal that its session is told about.
//!
//! The journal itself is the outbox. An event in the journal will be told, so no second record of it
//! can get lost. [`crate::told`] records who was told.

use crate::event::{Event, Moment, Record};
use crate::journal;
use crate::outcome::{End, EndedBy};
use crate::spec::{Notify, Spec};
use crate::state::State;
use outlive_api::event::EventKind;

/// An event that the session is told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub seq: u64,
    pub at: Moment,
    pub event: Event,
}

/// The kind of notice that an event makes; `None` if nobody is told about it.
pub fn kind_of(event: &Event) -> Option<EventKind> {
    Some(match event {
        Event::Ended(_) => EventKind::Ended,
        Event::LingeringEnded(_) => EventKind::LingeringEnded,
        Event::Matched(_) => EventKind::Matched,
        Event::WatchDisabled { .. } => EventKind::WatchDisabled,
        Event::WatchOverflow { .. } => EventKind::WatchOverflow,
        Event::WatchResumed { .. } => EventKind::WatchResumed,
        Event::Ready => EventKind::Ready,
        Event::Quiet { .. } => EventKind::Quiet,
        Event::AwaitingInput { .. } => EventKind::AwaitingInput,
        Event::Accepted { .. }
        | Event::Kept { .. }
        | Event::NewStandby { .. }
        | Event::Spawned { .. }
        | Event::Started
        | Event::StopRequested(_)
        | Event::Gap { .. }
        | Event::Resized { .. }
        | Event::LogBase { .. }
        | Event::Changed(_)
        | Event::Rung { .. }
        | Event::Closed { .. } => return None,
    })
}

/// The state of a job, and the events its session is told about.
#[derive(Clone, Debug, Default)]
pub struct Noticed {
    pub state: State,
    pub notices: Vec<Notice>,
}

/// Collects the notices in a journal, whether or not they were delivered yet.
pub fn read(journal: &[u8], spec: &Spec) -> Noticed {
    let mut noticed = Noticed::default();
    journal::for_each(journal, |record| {
        let applied = noticed.state.apply(record);
        if kind_of(&record.event).is_some() && applied == crate::state::Applied::Changed {
            noticed.notices.push(notice(record));
        }
    });
    let Noticed { state, notices } = &mut noticed;
    notices.retain(|notice| match &notice.event {
        Event::Ended(end) => is_end_told(spec, state.notify(spec), end, state.signs.end_promised),
        // If success is not told, what happens after the success is not told either.
        Event::LingeringEnded(_) => spec.session.is_some() && state.notify(spec) == Notify::End,
        _ => true,
    });
    noticed
}

fn notice(record: &Record) -> Notice {
    Notice {
        seq: record.seq,
        at: record.at,
        event: record.event.clone(),
    }
}

/// Whether the session is told about this end. A watch that turned itself off promised a notice
/// (`promised`).
pub fn is_end_told(spec: &Spec, notify: Notify, end: &End, promised: bool) -> bool {
    let wanted = match notify {
        Notify::End => true,
        Notify::Failure => promised || !end.outcome.is_success(),
        Notify::Never => promised,
    };
    // In jobs of the first release, the answer to a stop told the session about the end, and no record
    // says so. Newer releases record that the answer told it.
    let is_of_first_release = spec.incarnation.is_none();
    let asked = end.ended_by == EndedBy::Stop && end.ended_by_session == spec.session;
    spec.session.is_some() && wanted && !(asked && is_of_first_release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::{BootTime, WallTime};
    use crate::outcome::Outcome;
    use crate::process::BootId;

    fn spec(session: Option<&str>, notify: &str) -> Spec {
        serde_json::from_value(serde_json::json!({
            "format": 1, "id": "x", "place": "local", "command": "x", "argv": ["x"], "cwd": "/",
            "grace_ms": 1, "notify": notify, "leftovers": "keep", "session": session,
        }))
        .expect("a spec")
    }

    fn journal(events: &[Event]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (seq, event) in (1..).zip(events) {
            let at = Moment {
                wall: WallTime::from_ms(1),
                boot: BootTime::from_ms(1),
            };
            let record = Record {
                v: 1,
                seq,
                at,
                event: event.clone(),
            };
            serde_json::to_writer(&mut bytes, &record).expect("encoded");
            bytes.push(b'\n');
        }
        bytes
    }

    fn ended(code: i32, by: EndedBy, session: Option<&str>) -> Event {
        let mut end = End::unseen(Outcome::Exited { code }, 0, 0);
        end.ended_by = by;
        end.ended_by_session = session.map(|text| crate::Label::parse(text).expect("valid"));
        Event::Ended(end)
    }

    fn told(spec: &Spec, events: &[Event]) -> Vec<u64> {
        let accepted = Event::Accepted {
            boot: BootId("b".into()),
            host: None,
        };
        let all: Vec<Event> = [accepted]
            .into_iter()
            .chain(events.iter().cloned())
            .collect();
        let noticed = read(&journal(&all), spec);
        noticed.notices.iter().map(|notice| notice.seq).collect()
    }

    #[test]
    fn whom_an_end_concerns() {
        let disabled = Event::WatchDisabled {
            matches: 9,
            untold: 3,
            resume: serde_json::Value::Null,
        };
        let itself = |code| ended(code, EndedBy::Itself, None);
        let cases = [
            ("end", Some("s"), vec![itself(0)], vec![2]),
            ("end", None, vec![itself(1)], vec![]),
            ("failure", Some("s"), vec![itself(0)], vec![]),
            ("failure", Some("s"), vec![itself(1)], vec![2]),
            ("never", Some("s"), vec![itself(1)], vec![]),
            ("never", Some("s"), vec![disabled, itself(0)], vec![2, 3]),
            (
                "end",
                Some("s"),
                vec![ended(1, EndedBy::Stop, Some("s"))],
                vec![],
            ),
            (
                "end",
                Some("s"),
                vec![ended(1, EndedBy::Stop, Some("t"))],
                vec![2],
            ),
            (
                "end",
                Some("s"),
                vec![ended(1, EndedBy::Stop, None)],
                vec![2],
            ),
            (
                "end",
                Some("s"),
                vec![ended(1, EndedBy::Timeout, None)],
                vec![2],
            ),
            // The first end wins, and only that one is told.
            ("end", Some("s"), vec![itself(1), itself(2)], vec![2]),
        ];
        for (notify, session, events, expected) in cases {
            assert_eq!(
                told(&spec(session, notify), &events),
                expected,
                "{notify} {session:?} {events:?}"
            );
        }
    }
}
