//! What a keeper begins with.

use crate::clock;
use crate::hooks::Role;
use crate::input::writes::InputState;
use crate::output::capture::Capture;
use crate::output::indexing::Indexing;
use crate::output::mirror::Mirror;
use crate::pair::shared::Shared;
use crate::signs::detector::Signs;
use crate::supervise::kept_job::KeptJob;
use outlive_core::event::{Event, Keeping};
use outlive_core::{Phase, ProcRef, State};
use outlive_sys::process;
use outlive_sys::process::own::{self, Bell};
use std::io;

/// What a keeper must have. It is opened before there is a job that could suffer for want of it.
#[derive(Debug)]
pub struct Tools {
    pub capture: Capture,
    pub input: InputState,
    pub bell: Bell,
    /// `None` if it cannot be opened. It only makes reading faster, so the job runs without it.
    pub indexing: Option<Indexing>,
    pub signs: Option<Box<Signs>>,
}

impl Tools {
    /// Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub fn new(role: Role, shared: &Shared, state: &State) -> io::Result<Tools> {
        let capture = Capture::resume(role, &shared.directory, &shared.spec, state)?;
        let signs = Signs::resume(
            &shared.directory,
            &shared.spec,
            state,
            capture.size(),
            clock::now(),
        );
        let signs = match signs {
            // A job that already runs is supervised without it.
            Err(_) if state.phase != Phase::Accepted => None,
            other => other?,
        };
        Ok(Tools {
            capture,
            input: InputState::resume(&shared.channel)?,
            bell: Bell::for_relatives()?,
            indexing: Indexing::resume(&shared.directory).ok(),
            signs,
        })
    }
}

/// Begins or continues the copy to the caller's log. `None` if that is impossible.
pub fn begin_mirror(job: &mut KeptJob, capture: &Capture) -> Option<Mirror> {
    let log = job.shared.log.as_ref()?.try_clone().ok()?;
    let (mirror, begun) = Mirror::resume(log, job.state(), job.spec(), capture).ok()?;
    // If this cannot be journaled (a full disk), a later keeper takes the size that the log has then for its base.
    let _ = begun.map(|event| job.ledger.write(&[event]));
    Some(mirror)
}

/// A reference by which others can find this process again.
pub fn identify(pid: i32) -> io::Result<ProcRef> {
    let stat = process::stat(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(ProcRef {
        pid,
        started: stat.started,
    })
}

/// The event that names this process and its standby in the journal.
pub fn kept(how: Keeping, standby: Option<i32>) -> io::Result<Event> {
    Ok(Event::Kept {
        how,
        keeper: identify(own::pid())?,
        // A standby that is gone already is not named.
        standby: standby.and_then(|pid| identify(pid).ok()),
    })
}
