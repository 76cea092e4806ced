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
mod event;
mod source;
mod text;

pub use bell::{Bell, ring, take_down_unheard};
pub use event::{BadEventId, EventId, InboxEvent, ack_command};
pub use source::{Item, Origin, Source, What};

use crate::error::Error;
use crate::hooks::{self, ConsumerHook as Hook};
use crate::moment;
use crate::outlive::{Outlive, ids_in};
use crate::random;
pub use outlive_core::notice::Kind;
use outlive_core::told::{self, Due, Durable, How, Line, Note, Told, When};
pub use outlive_core::told::{Rules, Why};
use outlive_core::{JobId, Label, breaker};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

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
    /// Of each source, what was claimed.
    claimed: Vec<(PathBuf, Vec<u64>)>,
    /// To be dropped by whoever claims.
    given_up: Vec<(Source, Vec<u64>, Why)>,
    /// Somebody else was first with some of what was due.
    outrun: bool,
}

/// One session's inbox.
#[derive(Debug)]
pub struct Inbox<'a> {
    outlive: &'a Outlive,
    session: Label,
    rules: Rules,
    /// Jobs whose ends are for a later look.
    unended: Vec<JobId>,
}

impl<'a> Inbox<'a> {
    pub fn new(outlive: &'a Outlive, session: Label, rules: Rules) -> Inbox<'a> {
        Inbox {
            outlive,
            session,
            rules,
            unended: Vec::new(),
        }
    }

    /// The ends of these jobs are left out, and stay as they are: for who has just said that they run.
    #[must_use]
    pub fn without_ends_of(mut self, jobs: Vec<JobId>) -> Inbox<'a> {
        self.unended = jobs;
        self
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
        let mut dropped = Vec::new();
        loop {
            let mut taken = self.look(shown, most, |source, told, seqs, when| {
                self.try_to_claim(source, told, seqs, when, &by)
            })?;
            for (source, seqs, why) in std::mem::take(&mut taken.given_up) {
                source.settle(self.outlive, &seqs, Note::Dropped { why })?;
                dropped.extend(seqs.into_iter().map(|seq| (source.event(seq), why)));
            }
            // Whoever was outrun looks again: there may be more, and the other's claim will lapse.
            if !taken.outrun || !taken.events.is_empty() {
                return Ok(Taken { dropped, ..taken });
            }
        }
    }

    /// The same without claiming, so that others may be given them meanwhile. Nothing is dropped
    /// either: that is said to whoever claims.
    pub fn peek(&self, shown: Shown, most: usize) -> Result<Taken, Error> {
        self.look(shown, most, |_, _, seqs, _| Ok(seqs.to_vec()))
    }

    /// Looks through every source and takes what is due.
    fn look(
        &self,
        shown: Shown,
        most: usize,
        take: impl Fn(&Source, &mut Told, &[u64], &When) -> Result<Vec<u64>, Error>,
    ) -> Result<Taken, Error> {
        hooks::reach_consumer(Hook::Looking);
        let mut taken = Taken::default();
        let mut sources = self.sources(&mut taken)?;
        let when = moment::when()?;
        let mut due = Vec::new();
        for (source, told) in &sources {
            due.push(self.due(source, told, shown, &when, &mut taken));
        }
        let mut events = Vec::new();
        for (place, chosen) in oldest(due, most) {
            let (source, told) = &mut sources[place];
            let seqs: Vec<u64> = chosen.keys().copied().collect();
            let seqs = take(source, told, &seqs, &when)?;
            taken.outrun |= seqs.len() < chosen.len();
            let items = source.items().into_iter();
            for item in items.filter(|item| seqs.contains(&item.seq)) {
                events.push((chosen[&item.seq], source.present(self.outlive, told, &item)));
            }
            taken.claimed.push((source.told.clone(), seqs));
        }
        events.sort_by(|(a, one), (b, other)| (a, &one.event).cmp(&(b, &other.event)));
        taken.events = events.into_iter().map(|(_, event)| event).collect();
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
            // Whoever starts another job makes it again. What matched before is no matter any more.
            let _ = fs::remove_file(directory.join(breaker::LIST));
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
    ) -> Vec<(u64, u64)> {
        let mut due = Vec::new();
        let mut given_up: BTreeMap<Why, Vec<u64>> = BTreeMap::new();
        // An end is of the moment it came, and what was found in the last of the output of a later one; and
        // a wall clock may be set back. What was journaled later is not told earlier.
        let mut latest = 0;
        for item in source.items() {
            latest = item.at.wall_ms.max(latest);
            let was_shown = told.of(item.seq).is_some_and(|delivery| delivery.shown);
            let is_for_later = item.kind == Kind::Ended && self.unended.contains(&source.id);
            if (shown == Shown::LeaveOut && was_shown) || is_for_later {
                continue;
            }
            match told.due(item.seq, &source.happened(item.at), when, &self.rules) {
                Due::Now => due.push((latest, item.seq)),
                Due::Held { until } => {
                    taken.lapses_at = Some(taken.lapses_at.map_or(until, |at| at.min(until)));
                }
                Due::GiveUp(why) => given_up.entry(why).or_default().push(item.seq),
                Due::Settled => {}
            }
        }
        let given_up = given_up.into_iter();
        taken
            .given_up
            .extend(given_up.map(|(why, seqs)| (source.clone(), seqs, why)));
        due
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
                most: self.rules.attempts,
            },
        };
        hooks::reach_consumer(Hook::Looked);
        source.append(&line, Durable::No)?;
        hooks::reach_consumer(Hook::Claimed);
        // Others may have been first; the order of the lines decides.
        *told = source.read_told()?;
        let now = moment::when()?;
        let mine = |seq: &u64| told.holder(*seq, &now) == Some(by);
        Ok(seqs.iter().copied().filter(mine).collect())
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

    /// Notes that what was claimed has been given to whoever is to ack it.
    pub fn note_delivered(&self, taken: &Taken) -> Result<(), Error> {
        for (path, seqs) in taken.claimed.iter().filter(|(_, seqs)| !seqs.is_empty()) {
            let line = Line {
                when: moment::when()?,
                seqs: seqs.clone(),
                note: Note::Delivered,
            };
            told::append(path, &line, Durable::No).map_err(Error::io("cannot write", path))?;
        }
        Ok(())
    }

    /// Everything that has been delivered and not been acked.
    pub fn unacked(&self) -> Result<Vec<EventId>, Error> {
        self.untold(|told, seq| told.of(seq).is_some_and(|delivery| delivery.delivered))
    }

    /// How much waits to be told.
    pub fn waiting(&self) -> Result<usize, Error> {
        Ok(self.untold(|_, _| true)?.len())
    }

    /// Gives up everything that waits or will, because the session is over. Says how much waited.
    pub fn close(&self) -> Result<usize, Error> {
        let waiting = self.waiting()?;
        for id in ids_in(&self.directory())? {
            // One that cannot be read has nothing to tell.
            if let Ok(Some(source)) = Source::read(self.outlive, &id) {
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
                    events.push(source.event(item.seq));
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

/// The oldest `most` of what is due, by the place of their source: which, and of when.
fn oldest(due: Vec<Vec<(u64, u64)>>, most: usize) -> BTreeMap<usize, BTreeMap<u64, u64>> {
    let mut all: Vec<(u64, usize, u64)> = due
        .into_iter()
        .enumerate()
        .flat_map(|(place, items)| items.into_iter().map(move |(at, seq)| (at, place, seq)))
        .collect();
    all.sort_unstable();
    let mut chosen: BTreeMap<usize, BTreeMap<u64, u64>> = BTreeMap::new();
    for (at, place, seq) in all.into_iter().take(most) {
        chosen.entry(place).or_default().insert(seq, at);
    }
    chosen
}
