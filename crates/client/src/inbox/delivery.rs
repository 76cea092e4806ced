//! Delivers events in three steps: claim, confirm, record.
//!
//! ```text
//!  Inbox::claim ──► Claim ──confirm──► Delivery ──told──────► told
//!                     │                   ├──delivered──► waits for an ack by its ids
//!                     │                   ├──handed─────► waits for a sign that the agent read it
//!                     └──────dropped──────┴──────────────► due again when the claim lapses
//! ```
//! Every consumer (CLI, hooks, MCP) takes these steps. Only a confirmed claim gives access to the
//! events. A consumer that is killed at any point leaves a claim that expires.

use super::event::EventId;
use super::source::Source;
use super::{AgentReader, Inbox, all_of, outage};
use crate::agent::{AgentProcess, HandedWith};
use crate::error::Error;
use crate::hooks::{self, ConsumerHook as Hook};
use crate::moment;
use outlive_api::event::{DropReason, Event};
use outlive_core::told::{Durable, Note, ToldBy};
use outlive_core::{BootTime, JobId};
use std::time::Duration;

/// The pause after a lost claim, so that claims that expire at once keep nobody busy.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The result of reading the sources of an inbox.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub events: Vec<Event>,
    /// When another consumer's claim expires.
    pub lapses_at: Option<BootTime>,
    /// The agents that have been handed events which they may not have read. If one dies, they are due.
    pub handed_to: Vec<AgentProcess>,
    /// The jobs that may have more to tell, and the last event that was read of each.
    pub running: Vec<(JobId, u64)>,
    /// Those of them that run at places, by the names of these.
    pub places: outage::Running,
    /// How many more events are due.
    pub more: usize,
    /// What could not be read, with a message.
    pub unreadable: Vec<(JobId, String)>,
    /// What could not be claimed, for example on a full disk, with a message.
    pub unclaimable: Vec<(JobId, String)>,
    /// The events that were taken from each source.
    pub taken: Vec<(Source, Vec<u64>)>,
    /// Another consumer has claimed some of the due events.
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

    /// Keeps the events for which `wanted` returns true, and their claims.
    fn retain(&mut self, mut wanted: impl FnMut(&Event) -> bool) {
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

/// Events that are claimed for one consumer. Until the claim expires, nobody else gets them.
#[derive(Debug)]
#[must_use = "confirm it just before its events go out"]
pub struct Claim {
    pub(super) inbox: Inbox,
    /// The name of the claim; empty if nothing was claimed.
    pub(super) by: Option<String>,
    pub(super) found: Found,
}

impl Claim {
    /// Call this just before the events are printed: it drops events whose claim has expired. A
    /// consumer that was suspended for long would otherwise repeat what another one has told since.
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
            // What cannot be checked now is told later.
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
            // The event may be due again, or told by another consumer; the next look finds out.
            found.look_again_at(moment::now().boot + LOOK_AGAIN);
        }
        Delivery { inbox, found }
    }
}

/// Events to print now. Without [`Delivery::told`] or [`Delivery::delivered`], they are told again
/// after the claim has expired.
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
    pub fn events(&self) -> &[Event] {
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

    /// The jobs and posts whose events could not be read or claimed, with a message for each.
    pub fn problems(&self) -> impl Iterator<Item = &(JobId, String)> {
        self.found.unreadable.iter().chain(&self.found.unclaimable)
    }

    /// Whether some events could not be claimed, for example on a full disk.
    pub fn is_held_back(&self) -> bool {
        !self.found.unclaimable.is_empty()
    }

    /// Whether waiting for more events is pointless: no job of the session runs, no other consumer's claim
    /// can expire, and no other agent has events that it may not read.
    pub fn nothing_can_come(&self) -> bool {
        self.found.running.is_empty()
            && self.found.lapses_at.is_none()
            && self.found.handed_to.is_empty()
    }

    /// Keeps only the events for which `wanted` returns true. The others stay claimed until the claim
    /// expires.
    pub fn only(mut self, wanted: impl FnMut(&Event) -> bool) -> Delivery {
        self.found.retain(wanted);
        self
    }

    /// The inbox that the events come from.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    pub(crate) fn lapses_at(&self) -> Option<BootTime> {
        self.found.lapses_at
    }

    /// The agents whose end makes events due again.
    pub(crate) fn handed_to(&self) -> &[AgentProcess] {
        &self.found.handed_to
    }

    pub(crate) fn running(&self) -> &[(JobId, u64)] {
        &self.found.running
    }

    /// Records that the session has read the events.
    pub fn told(self) -> Result<(), Error> {
        let outlive = &self.inbox.outlive;
        self.note(|source, seqs| source.settle(outlive, seqs, outlive.note_of(ToldBy::Inbox)))
    }

    /// Records that the events were printed. Their reader acks them by their ids. Events that were
    /// printed for the last time are dropped.
    pub fn delivered(self) -> Result<(), Error> {
        self.printed(&Note::Delivered)
    }

    /// Records that the events were printed for the agent that the inbox was opened for. They count as told
    /// when the agent shows that it has read them.
    #[doc(hidden)]
    pub fn handed(self, with: HandedWith) -> Result<(), Error> {
        match &self.inbox.reader {
            Some(AgentReader { process: to, .. }) => {
                let to = *to;
                self.printed(&Note::Handed { to, with })
            }
            None => self.told(),
        }
    }

    fn printed(self, note: &Note) -> Result<(), Error> {
        self.note(|source, seqs| {
            let line = source.line(seqs.to_vec(), note.clone())?;
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
        // If one job was removed meanwhile, the others are still recorded.
        all_of(taken.map(|(source, seqs)| note(source, seqs)))?;
        hooks::reach_consumer(Hook::Acked);
        Ok(())
    }
}
