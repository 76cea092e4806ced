//! Records what the caller of a verb learned from it, so that it is not told again.
//!
//! `wait`, a `log` of the whole output and a failed `run` report an end as well as the inbox would. It
//! is recorded after the answer is printed: if the process is killed before that, the session is told
//! again instead of never.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::{Event, EventId, Source};
use crate::moment;
use outlive_api::event::EventKind;
use outlive_core::JobId;
use outlive_core::told::{Durable, Note, Rules, ToldBy};

/// Records that the caller has learned of these events of a job. It counts only if the caller is known
/// and is the job's session.
pub fn heard(
    outlive: &Outlive,
    id: &JobId,
    how: ToldBy,
    which: impl Fn(EventKind, u64) -> bool,
) -> Result<(), Error> {
    let Some(source) = own_source(outlive, id)? else {
        return Ok(());
    };
    let items = source.items();
    let seqs: Vec<u64> = items
        .iter()
        .filter(|item| which(item.kind, item.seq))
        .map(|item| item.seq)
        .collect();
    source.settle(outlive, &seqs, outlive.note_of(how))
}

/// Records that the calling session has seen a job's end in passing. Errors are ignored, since this
/// only avoids a repetition.
pub fn shown(outlive: &Outlive, id: &JobId) {
    let _ = try_to_note_shown(outlive, id);
}

fn try_to_note_shown(outlive: &Outlive, id: &JobId) -> Result<(), Error> {
    let Some(source) = own_source(outlive, id)? else {
        return Ok(());
    };
    let (told, when) = (source.read_told()?, moment::when()?);
    let is_new = |seq: u64| !told.is_settled(seq) && !told.was_just_shown(seq, &when);
    let items = source.items();
    let seqs: Vec<u64> = items
        .iter()
        .filter(|item| item.kind == EventKind::Ended && is_new(item.seq))
        .map(|item| item.seq)
        .collect();
    match seqs.is_empty() {
        true => Ok(()),
        false => source.append(&source.line(seqs, Note::Shown)?, Durable::No),
    }
}

/// The source of a job's events, if the caller is the session that must be told.
fn own_source(outlive: &Outlive, id: &JobId) -> Result<Option<Source>, Error> {
    let Some(caller) = outlive.calling_session().filter(|_| !outlive.only_looks()) else {
        return Ok(None);
    };
    let source = Source::read(outlive, id)?;
    Ok(source.filter(|source| source.session() == Some(caller)))
}

/// The events of this kind that were not told, that no consumer has claimed and no agent was handed.
pub fn untold(outlive: &Outlive, id: &JobId, kind: EventKind) -> Result<Vec<Event>, Error> {
    let Some(source) = Source::read(outlive, id)? else {
        return Ok(Vec::new());
    };
    let (told, when) = (source.read_told()?, moment::when()?);
    let items = source.items();
    let is_handed = |seq| {
        told.of(seq)
            .is_some_and(|delivery| delivery.handed.is_some())
    };
    let is_open =
        |seq| !told.is_settled(seq) && told.holder(seq, &when).is_none() && !is_handed(seq);
    Ok(items
        .iter()
        .filter(|item| item.kind == kind && is_open(item.seq))
        .map(|item| source.present(outlive, &told, item))
        .collect())
}

/// The events of a source that its session may still ask for; none for a job without a session.
pub fn awaited(source: &Source, rules: &Rules) -> Result<Vec<u64>, Error> {
    if source.session().is_none() {
        return Ok(Vec::new());
    }
    let (told, when) = (source.read_told()?, moment::when()?);
    let items = source.items().into_iter();
    let awaited =
        items.filter(|item| told.is_awaited(item.seq, &source.happened(item.at), &when, rules));
    Ok(awaited.map(|item| item.seq).collect())
}

/// The events of a source that were not told and that nobody waits for any more. If the record cannot
/// be read, all its events count.
pub fn unclaimed(source: &Source) -> Vec<EventId> {
    if source.session().is_none() {
        return Vec::new();
    }
    let told = source.read_told().unwrap_or_default();
    let items = source.items().into_iter();
    let open = items.filter(|item| !told.is_settled(item.seq));
    open.map(|item| source.event(item.seq)).collect()
}
