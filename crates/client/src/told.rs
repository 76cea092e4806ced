//! What whoever calls a verb learns by it, and so need not be told again.
//!
//! `wait`, a `log` of the whole output and a failed `run` tell of an end as well as the inbox would. The
//! note is made once the words are out: killed before that, the session is told again rather than never.

use crate::error::Error;
use crate::inbox::{InboxEvent, Source};
use crate::moment;
use crate::outlive::Outlive;
use outlive_core::JobId;
use outlive_core::notice::Kind;
use outlive_core::told::{Due, Durable, How, Line, Note, Rules};

/// Notes that whoever calls has heard of these events of a job. Another session's hearing of them is
/// not its owner's.
pub fn heard(
    outlive: &Outlive,
    id: &JobId,
    how: How,
    which: impl Fn(Kind, u64) -> bool,
) -> Result<(), Error> {
    let Some(source) = Source::read(outlive, id)? else {
        return Ok(());
    };
    if is_stranger(outlive, &source) {
        return Ok(());
    }
    let items = source.items();
    let seqs: Vec<u64> = items
        .iter()
        .filter(|item| which(item.kind, item.seq))
        .map(|item| item.seq)
        .collect();
    source.settle(outlive, &seqs, Note::Told { how })
}

/// Notes that a job's end was seen by the way. Best effort: it only spares a repetition.
pub fn shown(outlive: &Outlive, id: &JobId) {
    let _ = try_to_note_shown(outlive, id);
}

fn try_to_note_shown(outlive: &Outlive, id: &JobId) -> Result<(), Error> {
    let Some(source) = Source::read(outlive, id)? else {
        return Ok(());
    };
    let told = source.read_told()?;
    let items = source.items();
    let is_new = |seq: u64| told.of(seq).is_none_or(|delivery| !delivery.shown);
    let seqs: Vec<u64> = items
        .iter()
        .filter(|item| item.kind == Kind::Ended && is_new(item.seq) && !told.is_settled(item.seq))
        .map(|item| item.seq)
        .collect();
    if is_stranger(outlive, &source) || seqs.is_empty() {
        return Ok(());
    }
    let when = moment::when()?;
    let note = Note::Shown;
    source.append(&Line { when, seqs, note }, Durable::No)
}

/// Whether whoever calls is not the session that is to be told.
fn is_stranger(outlive: &Outlive, source: &Source) -> bool {
    outlive.calling_session(source.session()) != source.session()
}

/// The events of this kind that nobody has been told of.
pub fn untold(outlive: &Outlive, id: &JobId, kind: Kind) -> Result<Vec<InboxEvent>, Error> {
    let Some(source) = Source::read(outlive, id)? else {
        return Ok(Vec::new());
    };
    let told = source.read_told()?;
    let items = source.items();
    Ok(items
        .iter()
        .filter(|item| item.kind == kind && !told.is_settled(item.seq))
        .map(|item| source.present(outlive, &told, item))
        .collect())
}

/// Whether a session is still to be told of this job's end.
pub fn is_awaited(outlive: &Outlive, id: &JobId, rules: &Rules) -> Result<bool, Error> {
    let Some(source) = Source::read(outlive, id)? else {
        return Ok(false);
    };
    let told = source.read_told()?;
    let when = moment::when()?;
    let items = source.items();
    Ok(items.iter().any(|item| {
        let due = told.due(item.seq, &source.happened(item.at), &when, rules);
        item.kind == Kind::Ended && matches!(due, Due::Now | Due::Held { .. })
    }))
}
