//! `place remove`: removes a place from the configuration, and what is known of it.

use super::add::forget_known;
use super::edit::Draft;
use super::{jobs, resolve};
use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::away;
use crate::places::records::{self, FORGOTTEN, PlacedStep, append_placed_synced};
use crate::places::{Place, Settings, courier, dial};
use outlive_api::place::PlaceRemoved;
use outlive_core::place::Address;
use outlive_core::{JobId, WallTime, layout};
use outlive_sys::lock::{self, Lock, LockResult};
use std::io;
use std::thread;
use std::time::Duration;

/// Removes a place. With `forget`, its jobs that are not over are lost from then on; without, jobs that are there are an
/// error.
pub fn remove(outlive: &Outlive, name: &str, forget: bool) -> Result<PlaceRemoved, Error> {
    let mut draft = Draft::open(outlive)?;
    let is_configured = draft.config.places.contains_key(name);
    let there = jobs(outlive)?.remove(name);
    let place = match resolve(outlive, name) {
        // Somebody has removed it from the file. Its jobs would be unreachable for ever.
        Err(Error::Place(PlaceError::NoSuch(_))) if there.is_some() => gone(name),
        other => other?,
    };
    let there = there.unwrap_or_default();
    if !forget && !there.all.is_empty() {
        return Err(PlaceError::HasJobs {
            place: place.name,
            running: there.running.len(),
            ended: there.all.len() - there.running.len(),
        }
        .into());
    }
    draft.remove(name)?;
    // It would write to the replicas.
    dial::leave(outlive, &place)?;
    let _alone = keep_couriers_away(outlive, &place)?;
    let heard_at = dial::known(outlive, &place).map(|known| known.heard_at);
    for id in &there.running {
        forget_job(outlive, &place, id, heard_at)?;
    }
    // No courier does it any more.
    courier::ring_now(outlive, &place);
    let file = is_configured.then(|| draft.file.clone().into());
    if is_configured {
        draft.write()?;
    }
    forget_known(outlive, &place)?;
    Ok(PlaceRemoved {
        name: place.name,
        file,
        forgotten: there.running,
    })
}

/// A place that nobody can reach any more.
fn gone(name: &str) -> Place {
    Place {
        name: name.to_owned(),
        address: Address::Command("false".to_owned()),
        settings: Settings::default(),
    }
}

/// How long another process may write to the job's files.
const WRITING_TAKES: Duration = Duration::from_secs(2);

/// As long as this exists, no courier of the place begins, unless one has just begun.
fn keep_couriers_away(outlive: &Outlive, place: &Place) -> Result<Option<Lock>, Error> {
    let path = records::make_directory(outlive, place)?.join("lock");
    let failed = || Error::io("cannot take the lock", &path);
    let file = layout::open_or_make(&path).map_err(failed())?;
    Ok(match lock::take(file).map_err(failed())? {
        LockResult::Acquired(lock) => Some(lock),
        LockResult::Held => None,
    })
}

fn forget_job(
    outlive: &Outlive,
    place: &Place,
    id: &JobId,
    heard_at: Option<WallTime>,
) -> Result<(), Error> {
    let job = outlive.job_dir(id);
    let failed = || Error::io("cannot write to", job.placed());
    // Whoever is killed after that is followed by another one, who rings.
    let spec = outlive.read_spec(id)?;
    courier::remember_bells(outlive, place, &spec).map_err(failed())?;
    let until = clock::boot() + WRITING_TAKES;
    let lock = loop {
        let file = layout::open_or_replace(&job.lock()).map_err(failed())?;
        match lock::take(file).map_err(failed())? {
            LockResult::Acquired(lock) => break lock,
            LockResult::Held if clock::boot() > until => {
                return Err(failed()(io::ErrorKind::WouldBlock.into()));
            }
            LockResult::Held => thread::sleep(Duration::from_millis(1)),
        }
    };
    let lost = PlacedStep::Lost {
        reason: FORGOTTEN.to_owned(),
        at: clock::wall(),
        heard_at,
    };
    append_placed_synced(&job, &lost).map_err(failed())?;
    drop(lock);
    // Records the end, so that it is told.
    away::find(outlive, &job, id).map(drop)
}
