//! Delivering events: claim, confirm, tell.
//!
//! ```text
//!  Inbox::claim ──► Claim ──confirm──► Delivery ──told──────► told
//!                     │                   ├──delivered──► waits for an ack by its ids
//!                     └──────dropped──────┴──────────────► due again when the claim lapses
//! ```
//! Every consumer (CLI, hooks, MCP) takes these steps. The events can only be had from a confirmed claim,
//! and a consumer that is killed anywhere leaves a claim that lapses.

use super::event::{EventId, InboxEvent};
use super::source::Source;
use super::{Inbox, all_of};
use crate::error::Error;
use crate::hooks::{self, ConsumerHook as Hook};
use crate::moment;
use outlive_core::told::{DropReason, Durable, Note, ToldBy};
use outlive_core::{BootTime, JobId};
use std::time::Duration;

/// From losing a claim to the next look, so that claims of no length do not keep anybody busy.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Which events to take, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Leave out an end that its session saw a moment ago. It stays.
    pub skip_shown: bool,
    /// At most this many, the oldest first.
    pub limit: usize,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            skip_shown: false,
            limit: usize::MAX,
        }
    }
}

/// What a look through the sources of an inbox found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub events: Vec<InboxEvent>,
    /// When to look again because another consumer's claim lapses, in milliseconds since boot.
    pub lapses_at: Option<BootTime>,
    /// The jobs that may have more to tell, and how far each had come.
    pub running: Vec<(JobId, u64)>,
    /// How many more events are due.
    pub more: usize,
    /// What could not be read, and what to say of it.
    pub unreadable: Vec<(JobId, String)>,
    /// What has events that could not be claimed, on a full disk for example, and what to say of it.
    pub unclaimable: Vec<(JobId, String)>,
    /// The events that were taken from each source.
    pub taken: Vec<(Source, Vec<u64>)>,
    /// Another consumer was first with some of what was due.
    pub outrun: bool,
}

impl Found {
    pub fn cannot_read(&mut self, id: JobId, error: &Error) {
        self.unreadable
            .push((id, format!("cannot be read: {error}")));
    }

    pub fn look_again_at(&mut self, until: BootTime) {
        self.lapses_at = Some(self.lapses_at.map_or(until, |at| at.min(until)));
    }

    /// Keeps the events for which this holds, and their claims.
    fn retain(&mut self, mut wanted: impl FnMut(&InboxEvent) -> bool) {
        self.events.retain(&mut wanted);
        let events = &self.events;
        for (source, seqs) in &mut self.taken {
            let is_left = |seq: u64| {
                let event = source.event(seq);
                events.iter().any(|left| left.event == event)
            };
            seqs.retain(|seq| is_left(*seq));
        }
    }
}

/// Events that are claimed for one consumer: until the claim lapses nobody else is given them.
#[derive(Debug)]
#[must_use = "confirm it just before its events go out"]
pub struct Claim {
    pub(super) inbox: Inbox,
    /// The name it was claimed by; nothing if it was only looked at.
    pub(super) by: Option<String>,
    pub(super) found: Found,
}

impl Claim {
    /// To be called just before the events go out: drops those that are not claimed any more. A consumer
    /// that was suspended for longer than its claim would tell what another has told since.
    pub fn confirm(self) -> Delivery {
        let Claim {
            inbox,
            by,
            mut found,
        } = self;
        let Some(by) = by else {
            found.taken.clear();
            return Delivery { inbox, found };
        };
        hooks::reach_consumer(Hook::Confirming);
        for (source, seqs) in &mut found.taken {
            let told = source.read_told();
            let still = told.and_then(|told| inbox.still_claimed(source, &told, seqs, &by));
            // What cannot be looked up is told later, when it can.
            *seqs = still.unwrap_or_default();
        }
        let taken = &found.taken;
        let before = found.events.len();
        found.events.retain(|event| {
            taken
                .iter()
                .any(|(source, seqs)| seqs.iter().any(|seq| source.event(*seq) == event.event))
        });
        if found.events.len() < before {
            // It may be due again, or be told by somebody else: the next look finds out.
            found.look_again_at(moment::now().boot + LOOK_AGAIN);
        }
        Delivery { inbox, found }
    }
}

/// Events that go out now. Without [`Delivery::told`] or [`Delivery::delivered`] they are told again when
/// the claim lapses.
#[derive(Debug)]
#[must_use = "call `told` or `delivered` once its events are out"]
pub struct Delivery {
    inbox: Inbox,
    found: Found,
}

impl Delivery {
    /// Nothing to deliver.
    pub fn nothing(inbox: &Inbox) -> Delivery {
        Delivery {
            inbox: inbox.clone(),
            found: Found::default(),
        }
    }

    /// The events, the oldest first.
    pub fn events(&self) -> &[InboxEvent] {
        &self.found.events
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.found.events.is_empty()
    }

    /// The ids of the events.
    pub fn ids(&self) -> Vec<EventId> {
        let events = self.found.events.iter();
        events.map(|event| event.event.clone()).collect()
    }

    /// How many more events are due.
    pub fn more(&self) -> usize {
        self.found.more
    }

    /// The events that are told for the last time, and why.
    pub fn last(&self) -> impl Iterator<Item = (&EventId, DropReason)> {
        let events = self.found.events.iter();
        events.filter_map(|event| Some((&event.event, event.last?)))
    }

    /// Jobs and posts whose events could not be read or claimed, and what to say of each.
    pub fn problems(&self) -> impl Iterator<Item = &(JobId, String)> {
        self.found.unreadable.iter().chain(&self.found.unclaimable)
    }

    /// Whether there are events that could not be claimed, on a full disk for example.
    pub fn is_held_back(&self) -> bool {
        !self.found.unclaimable.is_empty()
    }

    /// Whether no job of the session runs and no claim of another consumer can lapse, so that waiting
    /// for more events is pointless.
    pub fn nothing_can_come(&self) -> bool {
        self.found.running.is_empty() && self.found.lapses_at.is_none()
    }

    /// Only the events for which this holds. The others stay claimed until that lapses.
    pub fn only(mut self, wanted: impl FnMut(&InboxEvent) -> bool) -> Delivery {
        self.found.retain(wanted);
        self
    }

    /// The inbox it is from.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    pub(crate) fn lapses_at(&self) -> Option<BootTime> {
        self.found.lapses_at
    }

    pub(crate) fn running(&self) -> &[(JobId, u64)] {
        &self.found.running
    }

    /// The events are out, and the session has read them: acknowledges them.
    pub fn told(self) -> Result<(), Error> {
        let told_by = ToldBy::Inbox;
        self.note(|source, seqs| {
            source.settle(&self.inbox.outlive, seqs, Note::Told { how: told_by })
        })
    }

    /// The events are out; whoever reads them acknowledges them by their ids. Those that were delivered for
    /// the last time are given up.
    pub fn delivered(self) -> Result<(), Error> {
        self.note(|source, seqs| {
            let line = source.line(seqs.to_vec(), Note::Delivered)?;
            source.append(&line, Durable::No)?;
            let mut last = self.last().filter(|(event, _)| event.source == source.id);
            last.try_for_each(|(event, why)| {
                source.settle(&self.inbox.outlive, &[event.seq], Note::Dropped { why })
            })
        })
    }

    fn note(&self, note: impl Fn(&Source, &[u64]) -> Result<(), Error>) -> Result<(), Error> {
        hooks::reach_consumer(Hook::Delivered);
        let taken = self.found.taken.iter().filter(|(_, seqs)| !seqs.is_empty());
        // One job that was removed meanwhile keeps nobody from noting what became of the others.
        all_of(taken.map(|(source, seqs)| note(source, seqs)))?;
        hooks::reach_consumer(Hook::Acked);
        Ok(())
    }
}
