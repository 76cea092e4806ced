//! Reserving an event for the answer to a request, so that a session is not told twice.
//!
//! A session that waits for a job, or stops it, learns of the end from the answer. A hook or an MCP reply
//! of the same session sees the end at the same moment and would tell it too. To prevent that, the verb
//! takes a shared lock on one byte of the job's journal, one byte for each kind of event. It takes the lock
//! before the event can happen and releases it after the answer is recorded in `told`. A consumer of the
//! inbox skips an event whose byte is locked.
//!
//! The kernel releases the lock when the process dies, so a killed verb holds nothing back. A suspended one
//! holds an event back for [`PATIENCE_MS`] at most.

use crate::outlive::Outlive;
use outlive_core::notice::Kind;
use outlive_core::{JobDir, JobId, Spec, layout};
use outlive_sys::lock;
use std::fs::File;
use std::sync::Arc;

/// How long after an event the reservation counts. An answer takes milliseconds.
pub(crate) const PATIENCE_MS: u64 = 30_000;

/// How many jobs one request reserves events of. Each costs a file descriptor, and the request needs more of
/// them to reach the keepers.
pub(crate) const MOST: usize = 128;

/// An answer that is being given, for as long as this exists.
#[derive(Clone, Debug)]
pub struct Answering {
    _journal: Arc<File>,
}

impl Answering {
    /// The caller will be told of these kinds of events of this job. `None` where the caller is not the
    /// job's session: then the session is to be told besides. Also where nothing can be locked: then the
    /// session may be told twice, never not at all.
    pub(crate) fn of(outlive: &Outlive, id: &JobId, kinds: &[Kind]) -> Option<Answering> {
        outlive.calling_session()?;
        Answering::on(outlive, &outlive.read_spec(id).ok()?, kinds)
    }

    /// The same for a job whose spec is at hand.
    pub(crate) fn on(outlive: &Outlive, spec: &Spec, kinds: &[Kind]) -> Option<Answering> {
        if outlive.calling_session()? != spec.session.as_ref()? {
            return None;
        }
        let id = &spec.id;
        let journal = layout::open(&outlive.job_dir(id).journal()).ok()?;
        for kind in kinds {
            lock::share_byte(&journal, byte(*kind)).ok()?;
        }
        Some(Answering {
            _journal: Arc::new(journal),
        })
    }
}

/// Whether somebody's answer is about to tell an event of this kind.
pub(crate) fn is_answered(job: &JobDir, kind: Kind) -> bool {
    layout::open(&job.journal())
        .and_then(|journal| lock::is_byte_taken(&journal, byte(kind)))
        .unwrap_or(false)
}

fn byte(kind: Kind) -> u32 {
    match kind {
        Kind::Ended => 0,
        Kind::Ready => 1,
        Kind::Matched => 2,
        Kind::Quiet => 3,
        Kind::AwaitingInput => 4,
        Kind::WatchDisabled => 5,
        Kind::WatchOverflow => 6,
        Kind::WatchResumed => 7,
        Kind::Delegation => 8,
    }
}
