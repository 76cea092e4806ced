//! Last acks that the place has not confirmed.
//!
//! An ack may be lost with its wire, and then its job stays at the place until somebody removes it. So a file in
//! `places/<key>/acks` names each job whose last ack is owed, from before it is sent until the place says that it is
//! recorded. What is owed is sent again over each new wire: one line for each job, and no call.

use super::desk::Courier;
use super::wire::Wire;
use crate::home::outlive::ids_in;
use crate::places::records;
use outlive_core::far::ToJournals;
use outlive_core::{JobId, State, layout};
use std::fs;
use std::io;
use std::path::PathBuf;

fn directory(courier: &Courier) -> PathBuf {
    records::directory(&courier.outlive, &courier.place).join("acks")
}

/// Notes that the last ack of a job is owed. Not synced: after a power failure, the place removes the job when it is old
/// enough.
pub fn note(courier: &Courier, job: &JobId) -> io::Result<()> {
    let directory = directory(courier);
    let path = directory.join(job.as_str());
    match layout::open_or_make(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            layout::make_directory(&directory)?;
            layout::open_or_make(&path).map(drop)
        }
        made => made.map(drop),
    }
}

/// The place has recorded the last ack of a job.
pub fn is_paid(courier: &Courier, job: &JobId) {
    let _ = fs::remove_file(directory(courier).join(job.as_str()));
}

/// Sends everything that is owed over this wire.
pub fn pay(courier: &Courier, wire: &Wire) {
    let Some(journals) = wire.journals() else {
        return;
    };
    for job in ids_in(&directory(courier)).unwrap_or_default() {
        if wire.is_lost() {
            return;
        }
        let dir = courier.outlive.job_dir(&job);
        match dir.read_journal().map(|journal| journal.state) {
            Ok(state) if state.is_final() => {
                let seq = state.seq;
                journals.say(wire, &ToJournals::Finish { job, seq });
            }
            // It was removed here, and its id may be that of another job by now.
            Ok(_) => is_paid(courier, &job),
            Err(_) if !dir.path().is_dir() => is_paid(courier, &job),
            Err(_) => {}
        }
    }
}

/// Before jobs that are over are removed there: an earlier ack may have been lost with its wire.
pub fn pay_for(courier: &Courier, wire: &Wire, jobs: &[JobId]) {
    let Some(journals) = wire.journals() else {
        return;
    };
    for job in jobs {
        let journal = courier.outlive.job_dir(job).read_journal();
        let state = journal.map(|journal| journal.state);
        if let Some(state) = state.ok().filter(State::is_final) {
            let (job, seq) = (job.clone(), state.seq);
            journals.say(wire, &ToJournals::Ack { job, seq });
        }
    }
}
