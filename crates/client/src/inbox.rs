//! The events that a session has not been told yet.
//!
//! ```text
//!   inbox/<key>/<id> ─► a job's journal (or a post) ─► its events ─┐
//!                       its `told` file: claims, acks ─────────────┴─► what is due
//! ```
//!
//! The inbox stores no events, only links to jobs and posts. A link is made before the job gets its
//! name, and stays until the job has ended and everything was told. An event in a journal is thus
//! always found: nobody can be killed between "it happened" and "it must be told".
//!
//! Every consumer takes the same steps: see [`Delivery`].

pub(crate) mod answering;
mod delivery;
mod event;
mod everyone;
mod look;
#[cfg(test)]
mod model;
mod outage;
pub(crate) mod pruned_posts;
pub(crate) mod receipt;
mod source;
mod text;
pub(crate) mod told;
mod wake_up;

pub use delivery::{Claim, Delivery};
pub use event::{BadEventId, EventId, ack_command, last_words};
pub use everyone::ack_of_any_session;
pub use receipt::{Receipt, all_told};
pub(crate) use source::{Item, Origin, Source};
pub(crate) use wake_up::{listen, wake};

use delivery::{Found, LOOK_AGAIN};

use crate::agent::Transcript;
use crate::agent::{AgentProcess, Sign};
use crate::clock;
use crate::error::Error;
use crate::home::outlive::{Outlive, ids_in};
use crate::hooks::{self, ConsumerHook as Hook};
use crate::moment;
use crate::random;
use crate::verbs::inbox::Waiter;
pub use outlive_api::event::{DropReason, Event, EventKind};
pub use outlive_api::request::{Ack, Selection, Take};
use outlive_core::links;
pub use outlive_core::told::Rules;
use outlive_core::told::{BootMoment, Durable, Note, Told, ToldBy};
use outlive_core::{JobId, Label};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The number of claims that may be lost in a row. More means that claims expire at once.
const MAX_TRIES: u32 = 50;

/// The inbox of one session.
#[derive(Clone, Debug)]
pub struct Inbox {
    outlive: Outlive,
    session: Label,
    rules: Rules,
    /// The jobs whose ends are left for later.
    unended: Vec<JobId>,
    /// The agent that reads the events, if they are for one.
    reader: Option<AgentReader>,
}

/// An agent that reads events, as the call of a hook shows it.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReader {
    pub process: AgentProcess,
    /// What the call shows about what the agent was handed before.
    pub sign: Option<Sign>,
    /// The conversation is resumed: what this process was handed before may have left its context.
    pub resumes: bool,
    /// A prompt begins a turn, and this is the transcript. What came with an earlier prompt and does not
    /// stand in it was taken back together with that prompt.
    pub prompts: Option<Transcript>,
}

impl Inbox {
    /// The inbox of a session, with the rules from the user's configuration.
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
            reader: None,
        }
    }

    /// Sets how long claims last, whatever the configuration says.
    #[must_use]
    pub fn claiming_for(mut self, claim: Duration) -> Inbox {
        self.rules.claim = claim;
        self
    }

    /// Limits how long claims last, unless the configuration sets a shorter time. Use it for a consumer
    /// that delivers at once, so that one that is killed does not hold events back for long.
    #[must_use]
    pub fn claiming_for_at_most(mut self, claim: Duration) -> Inbox {
        self.rules.claim = self.rules.claim.min(claim);
        self
    }

    /// Leaves the ends of these jobs, too, for later: for a caller that has just said that they run, or that
    /// tells them in another way.
    #[must_use]
    pub fn without_ends_of(mut self, jobs: Vec<JobId>) -> Inbox {
        self.unended.extend(jobs);
        self
    }

    /// The events are for this agent. What it has been handed before, and has shown to have read, is
    /// recorded as told by the next look.
    #[doc(hidden)]
    #[must_use]
    pub fn for_agent(mut self, reader: AgentReader) -> Inbox {
        self.reader = Some(reader);
        self
    }

    /// The handle it was opened with.
    pub fn outlive(&self) -> &Outlive {
        &self.outlive
    }

    /// Whose inbox it is.
    pub fn session(&self) -> &Label {
        &self.session
    }

    /// Waits until an event is due, or for at most this long, and takes it: see [`Delivery`]. The delivery is
    /// empty when the time is up.
    pub fn next(&self, take: Take) -> Result<Delivery, Error> {
        let deadline = take.timeout.map(|timeout| clock::boot() + timeout);
        Waiter::new(self)?.next(take.selection, deadline)
    }

    /// Claims the events that are due. Nobody else gets them until the claim expires. For a caller that
    /// only looks, nothing is claimed.
    pub fn claim(&self, selection: Selection) -> Result<Claim, Error> {
        if self.outlive.only_looks() {
            return self.peek(selection);
        }
        let by = random::token()?;
        for tries in 1.. {
            let mut found = self.look(selection, |source, told, seqs, when| {
                self.try_to_claim(source, told, seqs, when, &by)
            })?;
            // Another consumer was faster. Look again: there may be more events, and the other claim
            // will expire.
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

    /// Returns the events without claiming them.
    pub fn peek(&self, selection: Selection) -> Result<Claim, Error> {
        Ok(Claim {
            inbox: self.clone(),
            by: None,
            found: self.look(selection, |_, _, seqs, _| Ok(seqs.to_vec()))?,
        })
    }

    /// Returns those of these events that `by` has now claimed.
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
                agent: self.reader.as_ref().map(|reader| reader.process),
                instead_of: told.handed_to(seqs),
            },
        )?;
        line.when = when.clone();
        hooks::reach_consumer(Hook::Looked);
        source.append(&line, Durable::No)?;
        hooks::reach_consumer(Hook::Claimed);
        // Another consumer may have been faster; the order of the lines decides.
        *told = source.read_told()?;
        self.still_claimed(source, told, seqs, by)
    }

    /// Returns the events of a source whose claim by `by` is still valid. If an answer was reserved
    /// before the claim, the answer tells the event instead.
    fn still_claimed(
        &self,
        source: &Source,
        told: &Told,
        seqs: &[u64],
        by: &str,
    ) -> Result<Vec<u64>, Error> {
        // If the job was pruned and its id used again, the claim is in the file of the new job.
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

    /// Marks each of these events as told. An event that was told before is no error. If some are not
    /// events of this session, the others are acked first, and then the first wrong one is reported.
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
        // The events of one job are one step: if the process is killed, either all or none of them are
        // acked.
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

    /// Acks every event that was delivered and not acked. Returns the jobs and posts that could not be
    /// read, with a message for each.
    pub fn ack_delivered(&self) -> Result<Vec<(JobId, String)>, Error> {
        self.refuse_looking()?;
        let mut found = Found::default();
        let delivered = self.untold(&mut found, |told, seq| {
            told.of(seq).is_some_and(|delivery| delivery.deliveries > 0)
        })?;
        self.settle(&delivered).map(|()| found.unreadable)
    }

    /// The number of events that wait to be told.
    pub fn waiting(&self) -> Result<usize, Error> {
        Ok(self.untold(&mut Found::default(), |_, _| true)?.len())
    }

    /// Drops everything that waits, now and later, because the session is over.
    pub fn close(&self) -> Result<(), Error> {
        self.refuse_looking()?;
        let ids = ids_in(&self.directory())?;
        // A job or post that cannot be read has nothing to tell.
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

    /// Removes a link to another session's job or post. It was made by a process that was refused the
    /// id.
    fn unlink_stranger(&self, source: &Source) {
        let is_other = |owner: &links::Owner| owner.session.as_ref() != Some(&self.session);
        let (home, kind) = (self.outlive.home(), source.link_kind());
        let _ = links::unlink_inbox(home, &self.session, &source.id, kind, is_other);
    }
}

/// Runs every step, even if others fail. Returns the first error.
fn all_of(steps: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    let mut failed = None;
    for error in steps.filter_map(Result::err) {
        failed.get_or_insert(error);
    }
    failed.map_or(Ok(()), Err)
}

/// The data and the text of a job's end, whether or not a session is told about it; `None` if there is
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
