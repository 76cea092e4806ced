//! What a session has not been told yet.
//!
//! ```text
//!   inbox/<key>/<id> ─► a job's journal (or a post) ─► its events ─┐
//!                       its `told` file: claims, acks ─────────────┴─► what is due
//! ```
//! The inbox holds no events, only links to where they are; a link is there from before the job has its
//! name until nothing more can come of it and all has been told. So there is no step between "it
//! happened" and "it is to be told" at which anybody could be killed.
//!
//! Every consumer takes the same steps: see [`Delivery`].

pub(crate) mod answering;
mod bell;
mod delivery;
mod event;
mod look;
#[cfg(test)]
mod model;
pub(crate) mod pruned_posts;
pub(crate) mod receipt;
mod source;
mod text;
pub(crate) mod told;

pub use bell::{Bell, ring, take_down_unheard};
pub use delivery::{Claim, Delivery, Selection};
pub use event::{BadEventId, EventId, InboxEvent, ack_command, last_words};
pub use receipt::Receipt;
pub use source::{Item, Origin, Source, What};

use delivery::{Found, LOOK_AGAIN};

use crate::error::Error;
use crate::home::outlive::{Outlive, ids_in};
use crate::hooks::{self, ConsumerHook as Hook};
use crate::moment;
use crate::random;
use outlive_core::links;
pub use outlive_core::notice::Kind;
use outlive_core::told::{BootMoment, Durable, Note, Told, ToldBy};
pub use outlive_core::told::{DropReason, Rules};
use outlive_core::{JobId, Label};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// So often in a row somebody else is let go first. More is a sign of claims that lapse at once.
const MAX_TRIES: u32 = 50;

/// One session's inbox.
#[derive(Clone, Debug)]
pub struct Inbox {
    outlive: Outlive,
    session: Label,
    rules: Rules,
    /// Jobs whose ends are for a later look.
    unended: Vec<JobId>,
}

impl Inbox {
    /// The inbox of a session, with the rules that the user has configured.
    pub fn open(outlive: &Outlive, session: Label) -> Result<Inbox, Error> {
        let rules = outlive.config()?.inbox.rules();
        Ok(Inbox::with_rules(outlive, session, rules))
    }

    pub(crate) fn with_rules(outlive: &Outlive, session: Label, rules: Rules) -> Inbox {
        Inbox {
            outlive: outlive.clone(),
            session,
            rules,
            unended: Vec::new(),
        }
    }

    /// Claims hold for this long, whatever is configured.
    #[must_use]
    pub fn claiming_for(mut self, claim: Duration) -> Inbox {
        self.rules.claim = claim;
        self
    }

    /// Claims hold for this long, or shorter where that is configured: for a consumer that delivers at once,
    /// so that one that is killed does not hold the events back.
    #[must_use]
    pub fn claiming_for_at_most(mut self, claim: Duration) -> Inbox {
        self.rules.claim = self.rules.claim.min(claim);
        self
    }

    /// Leaves out the ends of these jobs, which stay as they are: for a caller that has just said that they run.
    #[must_use]
    pub fn without_ends_of(mut self, jobs: Vec<JobId>) -> Inbox {
        self.unended = jobs;
        self
    }

    pub fn outlive(&self) -> &Outlive {
        &self.outlive
    }

    pub fn session(&self) -> &Label {
        &self.session
    }

    /// Claims the events that are due: until the claim lapses nobody else is given them. For a caller that
    /// only looks, others may be given them meanwhile.
    pub fn claim(&self, selection: Selection) -> Result<Claim, Error> {
        if self.outlive.only_looks() {
            return self.peek(selection);
        }
        let by = random::token()?;
        for tries in 1.. {
            let mut found = self.look(selection, |source, told, seqs, when| {
                self.try_to_claim(source, told, seqs, when, &by)
            })?;
            // Whoever was outrun looks again: there may be more, and the other's claim will lapse.
            let is_outrun = found.outrun && found.events.is_empty();
            if is_outrun && tries == MAX_TRIES {
                found.look_again_at(moment::now().boot + LOOK_AGAIN);
            }
            if !is_outrun || tries == MAX_TRIES {
                return Ok(Claim {
                    inbox: self.clone(),
                    by: Some(by),
                    found,
                });
            }
        }
        unreachable!("it returns after a few tries")
    }

    /// Looks without claiming.
    pub fn peek(&self, selection: Selection) -> Result<Claim, Error> {
        Ok(Claim {
            inbox: self.clone(),
            by: None,
            found: self.look(selection, |_, _, seqs, _| Ok(seqs.to_vec()))?,
        })
    }

    /// Of these events, those that are now claimed by `by` and nobody else.
    fn try_to_claim(
        &self,
        source: &Source,
        told: &mut Told,
        seqs: &[u64],
        when: &BootMoment,
        by: &str,
    ) -> Result<Vec<u64>, Error> {
        let mut line = source.line(
            seqs.to_vec(),
            Note::Claimed {
                by: by.to_owned(),
                length: self.rules.claim.into(),
                most: u32::MAX,
            },
        )?;
        line.when = when.clone();
        hooks::reach_consumer(Hook::Looked);
        source.append(&line, Durable::No)?;
        hooks::reach_consumer(Hook::Claimed);
        // Others may have been first; the order of the lines decides.
        *told = source.read_told()?;
        self.still_claimed(source, told, seqs, by)
    }

    /// Those of a source that are claimed by `by` now. An answer that was begun before the claim was made
    /// tells them instead.
    fn still_claimed(
        &self,
        source: &Source,
        told: &Told,
        seqs: &[u64],
        by: &str,
    ) -> Result<Vec<u64>, Error> {
        // If the job was pruned meanwhile and its id used again, the claim is in the new job's file.
        if !source.is_there(&self.outlive) {
            return Ok(Vec::new());
        }
        let now = moment::when()?;
        let items = source.items().into_iter();
        let mine = items.filter(|item| {
            seqs.contains(&item.seq)
                && told.holder(item.seq, &now) == Some(by)
                && self.answered_until(source, item, &now).is_none()
        });
        Ok(mine.map(|item| item.seq).collect())
    }

    /// Marks these as told, each for itself. That some were already is no error; of those that are not
    /// this session's events the first is said once the others are acked.
    pub fn ack(&self, events: &[EventId]) -> Result<(), Error> {
        self.refuse_looking()?;
        hooks::reach_consumer(Hook::Delivered);
        self.settle(events)?;
        hooks::reach_consumer(Hook::Acked);
        Ok(())
    }

    fn refuse_looking(&self) -> Result<(), Error> {
        match self.outlive.only_looks() {
            true => Err(Error::OnlyLooking),
            false => Ok(()),
        }
    }

    fn settle(&self, events: &[EventId]) -> Result<(), Error> {
        let mut failed = None;
        // Those of one job are one step: killed over it, all of them are acked or none.
        let mut by_source: BTreeMap<&JobId, (Source, Vec<u64>)> = BTreeMap::new();
        for event in events {
            match self.find(event) {
                Ok(source) => {
                    let entry = by_source.entry(&event.source);
                    entry.or_insert((source, Vec::new())).1.push(event.seq);
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let settle = |(source, seqs): &(Source, Vec<u64>)| {
            source.settle(&self.outlive, seqs, Note::Told { how: ToldBy::Inbox })
        };
        let settled = all_of(by_source.values().map(settle));
        failed.map_or(settled, Err)
    }

    /// Acks everything that has been delivered and not been acked. Returns the jobs and posts that could not
    /// be read, and what to say of each.
    pub fn ack_delivered(&self) -> Result<Vec<(JobId, String)>, Error> {
        self.refuse_looking()?;
        let mut found = Found::default();
        let delivered = self.untold(&mut found, |told, seq| {
            told.of(seq).is_some_and(|delivery| delivery.deliveries > 0)
        })?;
        self.settle(&delivered).map(|()| found.unreadable)
    }

    /// How much waits to be told.
    pub fn waiting(&self) -> Result<usize, Error> {
        Ok(self.untold(&mut Found::default(), |_, _| true)?.len())
    }

    /// Gives up everything that waits or will, because the session is over.
    pub fn close(&self) -> Result<(), Error> {
        self.refuse_looking()?;
        let ids = ids_in(&self.directory())?;
        // One that cannot be read has nothing to tell.
        let sources = ids
            .iter()
            .filter_map(|id| Source::read(&self.outlive, id).ok()?);
        let own = sources.filter(|source| source.session() == Some(&self.session));
        let closed = all_of(own.map(|source| {
            let why = DropReason::Session;
            let line = source.line(Vec::new(), Note::Dropped { why })?;
            source.append(&line, Durable::Yes)?;
            source.let_go(&self.outlive);
            Ok(())
        }));
        let _ = fs::remove_dir(self.directory());
        closed
    }

    fn directory(&self) -> PathBuf {
        self.outlive.home().inbox(&self.session)
    }

    fn untold(
        &self,
        found: &mut Found,
        wanted: impl Fn(&Told, u64) -> bool,
    ) -> Result<Vec<EventId>, Error> {
        let mut events = Vec::new();
        for (source, told) in self.sources(found)? {
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
        Source::read(&self.outlive, &event.source)?
            .filter(|source| source.session() == Some(&self.session))
            .filter(|source| source.event(event.seq) == *event)
            .filter(|source| source.items().iter().any(|item| item.seq == event.seq))
            .ok_or_else(|| Error::NoSuchEvent(event.to_string()))
    }

    /// Removes a link that leads to another session's job or post: whoever made it was refused the id.
    fn unlink_stranger(&self, source: &Source) {
        let is_other = |owner: &links::Owner| owner.session.as_ref() != Some(&self.session);
        let (home, kind) = (self.outlive.home(), source.link_kind());
        let _ = links::unlink_inbox(home, &self.session, &source.id, kind, is_other);
    }
}

/// Takes every step, whatever becomes of the others; the first error is returned.
fn all_of(steps: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    let mut failed = None;
    for error in steps.filter_map(Result::err) {
        failed.get_or_insert(error);
    }
    failed.map_or(Ok(()), Err)
}

/// The particulars and the text of a job's end, whether or not a session is told of it; `None` if there is
/// no such event.
pub fn end_of(outlive: &Outlive, event: &EventId) -> Option<(Value, String)> {
    let spec = outlive.read_spec(&event.source).ok()?;
    let state = outlive.job_dir(&event.source).read_journal().ok()?.state;
    let end = state
        .end()
        .filter(|_| state.end_seq == Some(event.seq) && spec.incarnation == event.incarnation)?
        .clone();
    Some(text::end(outlive, &spec, &state, &end))
}
