//! Reads the sources of an inbox and finds the events that are due.

use super::delivery::Found;
use super::{DropReason, EventKind, Inbox, Item, Selection, Source, outage};
use crate::agent::{Conversation, HandedWith};
use crate::error::Error;
use crate::home::outlive::ids_in;
use crate::home::relink;
use crate::hooks::{self, ConsumerHook as Hook};
use crate::inbox::Origin;
use crate::inbox::event::for_the_last_time;
use crate::moment;
use outlive_core::breaker;
use outlive_core::event_id::EventId;
use outlive_core::place::LOCAL;
use outlive_core::told::{BootMoment, Due, Handed, Note, Told, ToldBy, age};
use outlive_core::{BootTime, WallTime};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// One event that may be told now.
#[derive(Clone, Copy, Debug)]
struct DueItem {
    seq: u64,
    /// The time by which events are sorted.
    at: WallTime,
    last: Option<DropReason>,
}

impl Inbox {
    /// Reads every source and takes the due events.
    pub(super) fn look(
        &self,
        selection: Selection,
        take: impl Fn(&Source, &mut Told, &[u64], &BootMoment) -> Result<Vec<u64>, Error>,
    ) -> Result<Found, Error> {
        let limit = selection.limit.unwrap_or(usize::MAX);
        hooks::reach_consumer(Hook::Looking);
        let mut found = Found::default();
        let mut sources = self.sources(&mut found)?;
        if self.note_outages(&mut found) {
            let look_at = found.lapses_at;
            found = Found::default();
            found.lapses_at = look_at;
            sources = self.sources(&mut found)?;
        }
        self.note_what_was_read(&mut sources, &mut found);
        let when = moment::when()?;
        let mut due = Vec::new();
        for (source, told) in &sources {
            due.push(self.due(source, told, selection.skip_shown, &when, &mut found));
        }
        let mut events = Vec::new();
        found.more = due
            .iter()
            .map(Vec::len)
            .sum::<usize>()
            .saturating_sub(limit);
        for (place, chosen) in oldest(due, limit) {
            let (source, told) = &mut sources[place];
            let seqs: Vec<u64> = chosen.keys().copied().collect();
            let seqs = match take(source, told, &seqs, &when) {
                Ok(seqs) => seqs,
                // A job that was just removed, or cannot be written to, must not hide the events of the
                // others.
                Err(error) => {
                    let words = format!("has news that cannot be told now: {error}");
                    found.unclaimable.push((source.id.clone(), words));
                    continue;
                }
            };
            found.outrun |= seqs.len() < chosen.len();
            let items = source.items().into_iter();
            for item in items.filter(|item| seqs.contains(&item.seq)) {
                let DueItem { at, last, .. } = chosen[&item.seq];
                let event = source.present(&self.outlive, told, &item);
                let event = match last {
                    Some(why) => for_the_last_time(event, why),
                    None => event,
                };
                events.push((at, event));
            }
            found.taken.push((source.clone(), seqs));
        }
        events.sort_by(|(a, one), (b, other)| (a, &one.event).cmp(&(b, &other.event)));
        found.events = events.into_iter().map(|(_, event)| event).collect();
        Ok(found)
    }

    /// Every source with something to tell, now or later. Removes links to sources that have nothing
    /// more to tell.
    pub(super) fn sources(&self, found: &mut Found) -> Result<Vec<(Source, Told)>, Error> {
        // A power loss may have removed links, and only this restores them.
        let _ = relink::once_a_boot(&self.outlive);
        let directory = self.directory();
        let mut sources = Vec::new();
        for id in ids_in(&directory)? {
            let source = match Source::read(&self.outlive, &id) {
                Ok(Some(source)) => source,
                // It was removed, or does not exist yet: a launcher makes the link first.
                Ok(None) => continue,
                Err(error) => {
                    found.cannot_read(id, &error);
                    continue;
                }
            };
            if source.session() != Some(&self.session) {
                self.unlink_stranger(&source);
                continue;
            }
            let told = match source.read_or_replace_told() {
                Ok((told, words)) => {
                    let words = words.map(|words| (id.clone(), words));
                    found.unreadable.extend(words);
                    told
                }
                Err(error) => {
                    found.cannot_read(id, &error);
                    continue;
                }
            };
            if let Origin::Job { spec, state, .. } = &source.origin
                && !source.is_final()
            {
                found.running.push((id.clone(), state.seq));
                if spec.place != LOCAL && state.end().is_none() {
                    let jobs = found.places.entry(spec.place.clone()).or_default();
                    jobs.push(id.clone());
                }
            }
            if source.is_over(&told) {
                source.let_go(&self.outlive);
                continue;
            }
            if source.items().iter().any(|item| !told.is_settled(item.seq)) {
                sources.push((source, told));
            }
        }
        // Check first: even removing a missing file blocks on a frozen disk.
        if sources.is_empty() && found.running.is_empty() && directory.is_dir() {
            // The next job makes the directory again. Earlier matches no longer matter to the circuit
            // breaker.
            let _ = fs::remove_file(directory.join(breaker::LIST));
            let _ = fs::remove_dir(&directory);
        }
        Ok(sources)
    }

    /// Posts what the session is to be told about places. Returns whether there is something new.
    fn note_outages(&self, found: &mut Found) -> bool {
        // If this fails, it is done at the next look.
        let noted = outage::note(&self.outlive, &self.session, &found.places).unwrap_or_default();
        if let Some(at) = noted.look_at {
            found.look_again_at(at);
        }
        noted.posted
    }

    /// Records as told what the agent was handed before and has read since.
    fn note_what_was_read(&self, sources: &mut [(Source, Told)], found: &mut Found) {
        let Some((agent, sign)) = self
            .reader
            .as_ref()
            .and_then(|it| Some((it.process, it.sign?)))
        else {
            return;
        };
        for (source, told) in sources {
            let read = told.read_by(&agent, &sign);
            if read.is_empty() {
                continue;
            }
            let how = ToldBy::Inbox;
            let noted = source.settle(&self.outlive, &read, Note::Told { how });
            // If this fails, the agent still has the events, and its next call notes them.
            match noted.and_then(|()| source.read_told()) {
                Ok(now) => *told = now,
                Err(error) => found.cannot_read(source.id.clone(), &error),
            }
        }
    }

    /// The events of a source that may be told now.
    fn due(
        &self,
        source: &Source,
        told: &Told,
        skip_shown: bool,
        when: &BootMoment,
        found: &mut Found,
    ) -> Vec<DueItem> {
        let mut due = Vec::new();
        // An event that is later in the journal is never told earlier. Its time may still be earlier: a
        // match may be found in old output after a later event, and a wall clock may be set back.
        let mut latest = WallTime::default();
        for item in source.items() {
            latest = item.at.wall.max(latest);
            let is_for_later = item.kind == EventKind::Ended && self.unended.contains(&source.id);
            let was_shown = skip_shown && told.was_just_shown(item.seq, when);
            if was_shown || is_for_later {
                continue;
            }
            let happened = source.happened(item.at);
            let has_lost = |handed: &Handed| self.has_lost(handed, &source.event(item.seq));
            let last = match told.due(item.seq, &happened, when, &self.rules, &has_lost) {
                Due::Now => None,
                Due::GiveUp(why) => Some(why),
                Due::Held { until } => {
                    found.look_again_at(until);
                    continue;
                }
                Due::Handed { to } => {
                    // It has read them, or will have them back when it resumes.
                    if self
                        .reader
                        .as_ref()
                        .is_none_or(|reader| reader.process != to)
                    {
                        found.handed_to.push(to);
                    }
                    continue;
                }
                Due::Settled => continue,
            };
            match self.answered_until(source, &item, when) {
                Some(until) => found.look_again_at(until),
                None => due.push(DueItem {
                    seq: item.seq,
                    at: latest,
                    last,
                }),
            }
        }
        due
    }

    /// Whether the agent that was handed this event no longer has it, though it lives, so that it is due again.
    fn has_lost(&self, handed: &Handed, event: &EventId) -> bool {
        let Some(reader) = &self.reader else {
            return false;
        };
        if handed.to == reader.process {
            // If the transcript cannot be read, the prompt is believed to stand in it.
            let prompt = reader.prompts.as_ref();
            let was_taken_back = || prompt.is_some_and(|it| it.mentions(event).is_ok_and(|it| !it));
            return reader.resumes || (handed.with == HandedWith::Prompt && was_taken_back());
        }
        // It went on to another conversation, and this agent has continued the one that it left.
        let now = Conversation::of(&self.outlive, &handed.to);
        now.is_some_and(|now| now.session != self.session)
    }

    /// If another process is about to tell this event in an answer: when to check again. The interval
    /// grows with the event's age, so a killed process delays the event only a little.
    pub(super) fn answered_until(
        &self,
        source: &Source,
        item: &Item<'_>,
        when: &BootMoment,
    ) -> Option<BootTime> {
        let age = age(&source.happened(item.at), when);
        let is_left = source.is_answered(&self.outlive, item.kind, age);
        is_left.then(|| {
            when.at.boot + (age / 2).clamp(Duration::from_millis(50), Duration::from_secs(60))
        })
    }
}

/// The oldest `most` due events, by the index of their source.
fn oldest(due: Vec<Vec<DueItem>>, most: usize) -> BTreeMap<usize, BTreeMap<u64, DueItem>> {
    let places = due.into_iter().enumerate();
    let mut all: Vec<(usize, DueItem)> = places
        .flat_map(|(place, items)| items.into_iter().map(move |item| (place, item)))
        .collect();
    all.sort_unstable_by_key(|(place, item)| (item.at, *place, item.seq));
    let mut chosen: BTreeMap<usize, BTreeMap<u64, DueItem>> = BTreeMap::new();
    for (place, item) in all.into_iter().take(most) {
        chosen.entry(place).or_default().insert(item.seq, item);
    }
    chosen
}
