//! Events of signs that are not journaled yet. They are journaled at once, unless the disk is full.

use outlive_core::event::{Event, Matched};
use outlive_core::watch::keep_line;
use std::collections::VecDeque;

/// If this many entries wait (the disk is full), further ones are joined to the last or left out, if possible.
const JOIN_FROM: usize = 1024;

/// Events in order. Events that were put in together are written in one write.
#[derive(Debug, Default)]
pub struct Unwritten(VecDeque<Vec<Event>>);

impl Unwritten {
    pub fn put(&mut self, events: Vec<Event>) {
        if self.0.len() < JOIN_FROM {
            return self.0.push_back(events);
        }
        match (
            events.as_slice(),
            self.0.back_mut().and_then(|back| back.last_mut()),
        ) {
            // One event can report both.
            ([Event::Matched(new)], Some(Event::Matched(last))) => {
                join(last, new);
            }
            // It will no longer be true when it can be written.
            ([Event::Quiet { .. } | Event::AwaitingInput { .. }], _) => {}
            _ => self.0.push_back(events),
        }
    }

    pub fn first(&self) -> Option<&[Event]> {
        self.0.front().map(Vec::as_slice)
    }

    pub fn first_is_written(&mut self) {
        self.0.pop_front();
    }
}

fn join(matched: &mut Matched, later: &Matched) {
    if matched.lines.is_empty() {
        keep_line(&mut matched.lines, &matched.last.text);
    }
    match later.lines.as_slice() {
        [] => keep_line(&mut matched.lines, &later.last.text),
        lines => lines
            .iter()
            .for_each(|line| keep_line(&mut matched.lines, line)),
    }
    matched.count += later.count;
    matched.last = later.last.clone();
    matched.pattern.clone_from(&later.pattern);
    matched.resume = later.resume.clone();
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_core::watch::Match;
    use serde_json::{Value, json};

    fn matched(number: u64) -> Event {
        Event::Matched(Matched {
            count: 1,
            last: Match {
                offset: number,
                end: number,
                pattern: None,
                text: number.to_string(),
            },
            pattern: None,
            lines: Vec::new(),
            looked_back: false,
            resume: json!(number),
        })
    }

    #[test]
    fn no_match_is_lost_while_the_disk_is_full() {
        let mut unwritten = Unwritten::default();
        let quiet = Event::Quiet {
            after_ms: 1,
            resume: Value::Null,
        };
        unwritten.put(vec![matched(0)]);
        (1..10_000).for_each(|number| unwritten.put(vec![matched(number)]));
        unwritten.put(vec![quiet]);
        unwritten.put(vec![Event::Ready]);
        let (mut told, mut newest, mut kept) = (0, 0, 0);
        let mut lines = Vec::new();
        while let Some(events) = unwritten.first() {
            kept += 1;
            match &events[0] {
                Event::Matched(matched) => {
                    told += matched.count;
                    newest = matched.last.offset;
                    lines.clone_from(&matched.lines);
                    assert_eq!(matched.resume, json!(newest));
                }
                last => assert_eq!(*last, Event::Ready),
            }
            unwritten.first_is_written();
        }
        assert_eq!((told, newest, kept), (10_000, 9_999, JOIN_FROM + 1));
        assert_eq!(
            lines,
            (9_980..10_000).map(|it| it.to_string()).collect::<Vec<_>>()
        );
    }
}
