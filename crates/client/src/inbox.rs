//! What a session has not been told yet.
//!
//! ```text
//!   inbox/<key>/<id> ─► a job's journal (or a post) ─► its events ─┐
//!                       its `told` file: claims, acks ─────────────┴─► what is due
//! ```
//! The inbox holds no events, only links to where they are; a link is there from before the job has its
//! name until nothing more can come of it and all has been told. So there is no step between "it
//! happened" and "it is to be told" at which anybody could be killed.

mod bell;
mod source;
mod text;

pub use bell::{Bell, ring};
pub use source::{Item, Origin, Source, What};

use crate::error::Error;
use crate::hooks::{self, ConsumerHook as Hook};
use crate::moment;
use crate::outlive::{Outlive, ids_in};
use crate::random;
pub use outlive_core::notice::Kind;
use outlive_core::told::{Due, Durable, How, Line, Note, Told, When};
pub use outlive_core::told::{Rules, Why};
use outlive_core::words::timestamp;
use outlive_core::{JobId, Label};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// Names an event for ever: `<job id>:<number in its journal>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    pub source: JobId,
    pub seq: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not the id of an event; it looks like 1pzrj72dak:7")]
pub struct BadEventId(String);

impl EventId {
    pub fn parse(text: &str) -> Result<EventId, BadEventId> {
        text.rsplit_once(':')
            .and_then(|(source, seq)| {
                Some(EventId {
                    source: JobId::parse(source).ok()?,
                    seq: seq.parse().ok()?,
                })
            })
            .ok_or_else(|| BadEventId(text.to_owned()))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.seq)
    }
}

impl Serialize for EventId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An event as the interface shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InboxEvent {
    pub event: EventId,
    pub kind: Kind,
    pub job: JobId,
    pub session: Label,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    pub at: String,
    /// 1 the first time it is delivered, then 2, 3, …
    pub attempt: u32,
    pub data: Value,
    /// Ready for an agent to read, secrets left out.
    pub text: String,
}

/// Which events a look at the inbox is to bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    #[default]
    Tell,
    /// An end that was just shown is left out, and stays.
    LeaveOut,
}

/// What a look at the inbox brought.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub events: Vec<InboxEvent>,
    /// Given up now, each for its reason.
    pub dropped: Vec<(EventId, Why)>,
    /// When somebody else's claim lapses, in milliseconds since boot.
    pub lapses_at: Option<u64>,
    /// What may have more to tell, and how far each had come.
    pub(crate) running: Vec<(JobId, u64)>,
    /// Could not be read.
    pub unreadable: Vec<(JobId, String)>,
}

/// One session's inbox.
#[derive(Debug)]
pub struct Inbox<'a> {
    outlive: &'a Outlive,
    session: Label,
    rules: Rules,
}

impl<'a> Inbox<'a> {
    pub fn new(outlive: &'a Outlive, session: Label, rules: Rules) -> Inbox<'a> {
        Inbox {
            outlive,
            session,
            rules,
        }
    }

    pub fn outlive(&self) -> &'a Outlive {
        self.outlive
    }

    pub fn session(&self) -> &Label {
        &self.session
    }

    /// Claims what is due, up to `most` events, the oldest first: until the claim lapses nobody else
    /// is given them.
    pub fn claim(&self, shown: Shown, most: usize) -> Result<Taken, Error> {
        let by = random::token()?;
        self.look(shown, most, |source, told, seqs, when| {
            self.try_to_claim(source, told, seqs, when, &by)
        })
    }

    /// The same without claiming, so that others may be given them meanwhile.
    pub fn peek(&self, shown: Shown, most: usize) -> Result<Taken, Error> {
        self.look(shown, most, |_, _, seqs, _| Ok(seqs.to_vec()))
    }

    /// Looks through every source, drops what is to be given up, and takes what is due.
    fn look(
        &self,
        shown: Shown,
        most: usize,
        take: impl Fn(&Source, &mut Told, &[u64], &When) -> Result<Vec<u64>, Error>,
    ) -> Result<Taken, Error> {
        let mut taken = Taken::default();
        let mut sources = self.sources(&mut taken)?;
        let when = moment::when()?;
        let due = sources
            .iter()
            .map(|(source, told)| self.due(source, told, shown, &when, &mut taken))
            .collect::<Result<Vec<_>, Error>>()?;
        let chosen = oldest(due, most);
        for (place, seqs) in chosen {
            let (source, told) = &mut sources[place];
            let seqs = take(source, told, &seqs, &when)?;
            for item in source
                .items()
                .into_iter()
                .filter(|item| seqs.contains(&item.seq))
            {
                taken.events.push(self.present(source, told, &item));
            }
        }
        taken
            .events
            .sort_by(|a, b| (&a.at, &a.event).cmp(&(&b.at, &b.event)));
        Ok(taken)
    }

    /// Every source with something to tell, now or later. One that has nothing any more is let go of.
    fn sources(&self, taken: &mut Taken) -> Result<Vec<(Source, Told)>, Error> {
        let directory = self.directory();
        let mut sources = Vec::new();
        for id in ids_in(&directory)? {
            let source = match Source::read(self.outlive, &id) {
                Ok(Some(source)) => source,
                // Removed, or not made yet: a launcher links before it makes.
                Ok(None) => continue,
                Err(error) => {
                    taken.unreadable.push((id, error.to_string()));
                    continue;
                }
            };
            let told = source.read_told()?;
            if let Origin::Job { state, .. } = &source.origin
                && !source.is_final()
            {
                taken.running.push((id.clone(), state.seq));
            }
            let untold = source.items().iter().any(|item| !told.is_settled(item.seq));
            if source.is_final() && !untold {
                let _ = fs::remove_file(directory.join(id.as_str()));
            } else if untold {
                sources.push((source, told));
            }
        }
        if sources.is_empty() && taken.running.is_empty() {
            // Whoever starts another job makes it again.
            let _ = fs::remove_dir(&directory);
        }
        Ok(sources)
    }

    /// What of a source may be told now, with when it happened.
    fn due(
        &self,
        source: &Source,
        told: &Told,
        shown: Shown,
        when: &When,
        taken: &mut Taken,
    ) -> Result<Vec<(u64, u64)>, Error> {
        let mut due = Vec::new();
        let mut given_up: BTreeMap<&str, (Why, Vec<u64>)> = BTreeMap::new();
        for item in source.items() {
            let was_shown = told.of(item.seq).is_some_and(|delivery| delivery.shown);
            if shown == Shown::LeaveOut && was_shown {
                continue;
            }
            match told.due(item.seq, &source.happened(item.at), when, &self.rules) {
                Due::Now => due.push((item.at.wall_ms, item.seq)),
                Due::Held { until } => {
                    taken.lapses_at = Some(taken.lapses_at.map_or(until, |at| at.min(until)));
                }
                Due::GiveUp(why) => {
                    let name = if why == Why::Age { "age" } else { "attempts" };
                    given_up
                        .entry(name)
                        .or_insert((why, Vec::new()))
                        .1
                        .push(item.seq);
                }
                Due::Settled => {}
            }
        }
        for (why, seqs) in given_up.into_values() {
            source.settle(self.outlive, &seqs, Note::Dropped { why })?;
            let event = |seq| EventId {
                source: source.id.clone(),
                seq,
            };
            taken
                .dropped
                .extend(seqs.into_iter().map(|seq| (event(seq), why)));
        }
        Ok(due)
    }

    /// Of these events, those that are now claimed by `by` and nobody else.
    fn try_to_claim(
        &self,
        source: &Source,
        told: &mut Told,
        seqs: &[u64],
        when: &When,
        by: &str,
    ) -> Result<Vec<u64>, Error> {
        let line = Line {
            when: when.clone(),
            seqs: seqs.to_vec(),
            note: Note::Claimed {
                by: by.to_owned(),
                for_ms: self.rules.claim_ms,
            },
        };
        source.append(&line, Durable::No)?;
        hooks::reach_consumer(Hook::Claimed);
        // Others may have been first; the order of the lines decides.
        *told = source.read_told()?;
        let now = moment::when()?;
        let mine = |seq: &u64| told.holder(*seq, &now) == Some(by);
        Ok(seqs.iter().copied().filter(mine).collect())
    }

    fn present(&self, source: &Source, told: &Told, item: &Item<'_>) -> InboxEvent {
        InboxEvent {
            event: EventId {
                source: source.id.clone(),
                seq: item.seq,
            },
            kind: item.kind,
            job: source.id.clone(),
            session: self.session.clone(),
            task: source.task().cloned(),
            at: timestamp(item.at.wall_ms),
            attempt: told.of(item.seq).map_or(0, |delivery| delivery.attempts),
            data: text::data(source, item),
            text: text::text(self.outlive, source, item),
        }
    }

    /// Marks these as told. That some were already is no error.
    pub fn ack(&self, events: &[EventId]) -> Result<(), Error> {
        let mut by_source: BTreeMap<&JobId, Vec<u64>> = BTreeMap::new();
        let mut sources = BTreeMap::new();
        for event in events {
            let source = self.find(event)?;
            by_source.entry(&event.source).or_default().push(event.seq);
            sources.insert(&event.source, source);
        }
        for (id, source) in &sources {
            let seqs = by_source.remove(id).unwrap_or_default();
            source.settle(self.outlive, &seqs, Note::Told { how: How::Inbox })?;
        }
        Ok(())
    }

    /// Everything that has been delivered and not been acked.
    pub fn unacked(&self) -> Result<Vec<EventId>, Error> {
        self.untold(|told, seq| told.of(seq).is_some_and(|delivery| delivery.attempts > 0))
    }

    /// How much waits to be told.
    pub fn waiting(&self) -> Result<usize, Error> {
        Ok(self.untold(|_, _| true)?.len())
    }

    /// Gives up everything that waits or will, because the session is over. Says how much waited.
    pub fn close(&self) -> Result<usize, Error> {
        let waiting = self.waiting()?;
        for id in ids_in(&self.directory())? {
            if let Some(source) = Source::read(self.outlive, &id)? {
                let why = Why::Session;
                let (when, seqs, note) = (moment::when()?, Vec::new(), Note::Dropped { why });
                source.append(&Line { when, seqs, note }, Durable::Yes)?;
            }
            let _ = fs::remove_file(self.directory().join(id.as_str()));
        }
        let _ = fs::remove_dir(self.directory());
        Ok(waiting)
    }

    fn directory(&self) -> PathBuf {
        self.outlive.home().inbox(&self.session)
    }

    fn untold(&self, wanted: impl Fn(&Told, u64) -> bool) -> Result<Vec<EventId>, Error> {
        let mut events = Vec::new();
        for (source, told) in self.sources(&mut Taken::default())? {
            for item in source.items() {
                if !told.is_settled(item.seq) && wanted(&told, item.seq) {
                    events.push(EventId {
                        source: source.id.clone(),
                        seq: item.seq,
                    });
                }
            }
        }
        Ok(events)
    }

    /// The source of an event of this session.
    fn find(&self, event: &EventId) -> Result<Source, Error> {
        Source::read(self.outlive, &event.source)?
            .filter(|source| source.session() == Some(&self.session))
            .filter(|source| source.items().iter().any(|item| item.seq == event.seq))
            .ok_or_else(|| Error::NoSuchEvent(event.to_string()))
    }
}

/// The particulars and the text of a job's end, whether or not a session is told of it; `None` if there is
/// no such event.
pub fn end_of(outlive: &Outlive, event: &EventId) -> Option<(Value, String)> {
    let spec = outlive.read_spec(&event.source).ok()?;
    let state = outlive.job_dir(&event.source).read_journal().ok()?.state;
    let end = state
        .end()
        .filter(|_| state.end_seq == Some(event.seq))?
        .clone();
    Some(text::end(outlive, &spec, &state, &end))
}

/// The oldest `most` of what is due, by the place of their source.
fn oldest(due: Vec<Vec<(u64, u64)>>, most: usize) -> BTreeMap<usize, Vec<u64>> {
    let mut all: Vec<(u64, usize, u64)> = due
        .into_iter()
        .enumerate()
        .flat_map(|(place, items)| items.into_iter().map(move |(at, seq)| (at, place, seq)))
        .collect();
    all.sort_unstable();
    let mut chosen: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (_, place, seq) in all.into_iter().take(most) {
        chosen.entry(place).or_default().push(seq);
    }
    chosen
}
