//! Reserves an event for the answer to a request, so that a session is not told twice.
//!
//! A session that waits for a job, or stops it, learns of the end from the answer. A hook or an MCP reply
//! of the same session sees the end at the same moment and would tell it too. To prevent that, the verb
//! takes a shared lock on one byte of the job's journal. It takes the lock before the event can happen and
//! releases it after the answer is recorded in `told`. A consumer of the inbox skips an event that is locked.
//!
//! The byte encodes the kind of event and the process that will answer. The kernel releases the lock
//! when the process dies, so a killed verb holds nothing back. A suspended verb holds an event back for
//! at most [`PATIENCE`]. Any other verb may hold it back for longer: a wait for several jobs answers
//! when the last of them has ended.

use crate::home::outlive::Outlive;
use outlive_api::event::EventKind;
use outlive_core::{JobDir, JobId, Spec, layout};
use outlive_sys::process::own;
use outlive_sys::{lock, process};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// How long after an event the reservation of a suspended process counts.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The most jobs whose events one request reserves. Each reservation needs a file descriptor, and the
/// request needs more of them for its connections.
pub(crate) const MAX_RESERVED_JOBS: usize = 128;

/// A reservation, held while this value exists.
#[derive(Clone, Debug)]
pub struct Reservation {
    job: JobId,
    journal: Arc<File>,
}

impl Reservation {
    /// Reserves these kinds of events of this job for the caller. Returns `None` if the caller is not
    /// the job's session: the session must then be told separately. Also returns `None` if locks do not
    /// work: then the session may be told twice, but never not at all.
    pub(crate) fn of(outlive: &Outlive, id: &JobId, kinds: &[EventKind]) -> Option<Reservation> {
        outlive.calling_session()?;
        Reservation::on(outlive, &outlive.read_spec(id).ok()?, kinds)
    }

    /// Like [`Reservation::of`], for a job whose spec is already known.
    pub(crate) fn on(outlive: &Outlive, spec: &Spec, kinds: &[EventKind]) -> Option<Reservation> {
        if outlive.only_looks() || outlive.calling_session()? != spec.session.as_ref()? {
            return None;
        }
        let id = &spec.id;
        let journal = layout::open(&outlive.job_dir(id).journal()).ok()?;
        for kind in kinds {
            lock::share_byte(&journal, own_byte(*kind)).ok()?;
        }
        Some(Reservation {
            job: id.clone(),
            journal: Arc::new(journal),
        })
    }

    /// The job whose events are reserved.
    pub(crate) fn job(&self) -> &JobId {
        &self.job
    }

    /// Events of this kind may be told by others again, because the answer does not tell them.
    pub(crate) fn release(&self, kind: EventKind) {
        // If this fails, the kernel releases it when the reservation is dropped.
        let _ = lock::release_byte(&self.journal, own_byte(kind));
    }
}

/// Whether the answer of another process will tell this kind of event, which happened this long ago.
pub(crate) fn is_answered(job: &JobDir, kind: EventKind, age: Duration) -> bool {
    let range = bytes(kind);
    let holders = layout::open(&job.journal())
        .and_then(|journal| lock::taken_bytes(&journal, range.clone()))
        .unwrap_or_default();
    let mut pids = holders.iter().map(|at| at - range.start);
    pids.any(|pid| age < PATIENCE || is_at_work(pid))
}

/// Whether a process runs and is not suspended. An invisible process, in another PID namespace, counts
/// as not running.
fn is_at_work(pid: u64) -> bool {
    let pid = i32::try_from(pid).unwrap_or_default();
    process::stat(pid).is_some_and(|stat| !stat.is_zombie() && !stat.is_stopped())
}

/// More than there are process IDs.
const PIDS: u64 = 1 << 32;

/// The byte for this kind of event and this process.
fn own_byte(kind: EventKind) -> u64 {
    bytes(kind).start + u64::from(own::pid().unsigned_abs())
}

/// The bytes for this kind of event: one for each process ID. Only the locks matter; no journal is that
/// long.
fn bytes(kind: EventKind) -> Range<u64> {
    let first = PIDS * (1 + number(kind));
    first..first + PIDS
}

fn number(kind: EventKind) -> u64 {
    match kind {
        EventKind::Ended => 0,
        EventKind::Ready => 1,
        EventKind::Matched => 2,
        EventKind::Quiet => 3,
        EventKind::AwaitingInput => 4,
        EventKind::WatchDisabled => 5,
        EventKind::WatchOverflow => 6,
        EventKind::WatchResumed => 7,
        EventKind::Delegation => 8,
        EventKind::LingeringEnded => 9,
        EventKind::Unknown => 10,
        EventKind::Restarted => 11,
        EventKind::Unreachable => 12,
        EventKind::Reached => 13,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_sys::spawn;
    use std::io;
    use std::process::{Command, Stdio};
    use std::thread;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    /// A wait for several jobs answers when the last one has ended, however long that takes.
    #[test]
    fn only_a_suspended_process_loses_its_reservation() -> io::Result<()> {
        let world = tempfile::tempdir()?;
        let job = JobDir::at(world.path().to_owned());
        let journal = File::create_new(job.journal())?;
        let mut child = spawn::start(Command::new("cat").stdin(Stdio::piped()))?;
        let pid = u64::from(child.id());
        // This simulates the child's lock.
        let reserve =
            |journal: &File| lock::share_byte(journal, bytes(EventKind::Ended).start + pid);
        assert!(!is_answered(&job, EventKind::Ended, Duration::ZERO));
        assert!(reserve(&journal)?);
        assert!(is_answered(&job, EventKind::Ended, HOUR));
        assert!(
            !is_answered(&job, EventKind::Ready, Duration::ZERO),
            "another kind"
        );
        signal(pid, "STOP");
        while !process::stat(pid as i32).is_some_and(|stat| stat.is_stopped()) {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(is_answered(
            &job,
            EventKind::Ended,
            PATIENCE - Duration::from_millis(1)
        ));
        assert!(!is_answered(&job, EventKind::Ended, PATIENCE));
        signal(pid, "CONT");
        while process::stat(pid as i32).is_none_or(|stat| stat.is_stopped()) {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(is_answered(&job, EventKind::Ended, HOUR));
        drop(journal);
        assert!(
            !is_answered(&job, EventKind::Ended, Duration::ZERO),
            "it is gone"
        );
        child.kill()?;
        child.wait().map(drop)
    }

    fn signal(pid: u64, name: &str) {
        let (signal, pid) = (format!("-{name}"), pid.to_string());
        let sent = spawn::start(Command::new("kill").args([signal, pid]));
        let sent = sent.and_then(|mut child| child.wait());
        assert!(sent.is_ok_and(|status| status.success()));
    }
}
