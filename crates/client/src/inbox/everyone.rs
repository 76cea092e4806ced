//! The inboxes of all sessions, for whoever looks after several of them.

use super::{Ack, EventId, Inbox, Source, all_of};
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::{JobId, Label};
use std::collections::BTreeMap;
use std::fs;
use std::io;

impl Inbox {
    /// The inbox of every session that may have to be told something, by the name of the session.
    pub fn all(outlive: &Outlive) -> Result<Vec<Inbox>, Error> {
        let path = outlive.home().inboxes();
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(Error::io("cannot read", &path))?,
        };
        let mut sessions: Vec<Label> = entries
            .flatten()
            .filter_map(|entry| Label::of_file_name(entry.file_name().to_str()?))
            .collect();
        sessions.sort();
        let open = |session| Inbox::open(outlive, session);
        sessions.into_iter().map(open).collect()
    }

    /// Marks every event so far of these jobs and posts as told.
    pub fn ack_jobs(&self, ids: &[JobId]) -> Result<(), Error> {
        self.refuse_looking()?;
        let mut events = Vec::new();
        for id in ids {
            let source = Source::read(&self.outlive, id)?;
            let source = source.filter(|source| source.session() == Some(&self.session));
            let source = source.ok_or_else(|| Error::NoSuchJob(id.to_string()))?;
            events.extend(events_of(&source));
        }
        self.ack(&events)
    }
}

/// Marks events as told, each in the inbox of its own session. Returns the jobs and posts that could not be read.
pub fn ack_of_any_session(outlive: &Outlive, asked: &Ack) -> Result<Vec<(JobId, String)>, Error> {
    let mut by_session: BTreeMap<Label, Vec<EventId>> = BTreeMap::new();
    for event in &asked.events {
        let no_such = || Error::NoSuchEvent(event.to_string());
        let source = Source::read(outlive, &event.source)?.ok_or_else(no_such)?;
        let session = source.session().cloned().ok_or_else(no_such)?;
        by_session.entry(session).or_default().push(event.clone());
    }
    for id in &asked.jobs {
        let no_such = || Error::NoSuchJob(id.to_string());
        let source = Source::read(outlive, id)?.ok_or_else(no_such)?;
        if let Some(session) = source.session().cloned() {
            let events = by_session.entry(session).or_default();
            events.extend(events_of(&source));
        }
    }
    let acks = by_session.into_iter();
    all_of(acks.map(|(session, events)| Inbox::open(outlive, session)?.ack(&events)))?;
    let mut problems = Vec::new();
    if asked.delivered {
        for inbox in Inbox::all(outlive)? {
            problems.extend(inbox.ack_delivered()?);
        }
    }
    Ok(problems)
}

fn events_of(source: &Source) -> Vec<EventId> {
    let items = source.items();
    items.iter().map(|item| source.event(item.seq)).collect()
}
