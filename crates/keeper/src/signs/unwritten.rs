//! What is to be journaled as soon as that can be done: at once, where the disk is not full.

use outlive_core::event::Event;
use std::collections::VecDeque;

/// From here on what can be said shorter is, for a disk that takes nothing.
const JOIN_FROM: usize = 1024;

/// Events in their order; those that were put in together are written together or not at all.
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
            // What one event tells of as well as two.
            ([Event::Matched(new)], Some(Event::Matched(last))) => {
                last.count += new.count;
                last.last = new.last.clone();
                last.resume = new.resume.clone();
            }
            // By the time this is written it is not so any more.
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

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_core::event::Matched;
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
            resume: json!(number),
        })
    }

    #[test]
    fn a_disk_that_takes_nothing_costs_no_match() {
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
        while let Some(events) = unwritten.first() {
            kept += 1;
            match &events[0] {
                Event::Matched(matched) => {
                    told += matched.count;
                    newest = matched.last.offset;
                    assert_eq!(matched.resume, json!(newest));
                }
                last => assert_eq!(*last, Event::Ready),
            }
            unwritten.first_is_written();
        }
        assert_eq!((told, newest, kept), (10_000, 9_999, JOIN_FROM + 1));
    }
}
