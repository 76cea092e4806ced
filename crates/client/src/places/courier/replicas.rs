//! Replicas: the copies of far journals that are here. Only the courier appends to them, under the lock of the job.
//!
//! A replica has the lines of the far journal, byte for byte. A record whose number is not greater than that of the last
//! one came before, and is skipped. A line that was cut short by a full disk or a power loss is ended first, and its
//! record is sent again.

use super::bells;
use super::desk::Courier;
use crate::clock;
use crate::home::outlive::{Outlive, ids_in};
use crate::hooks::{self, CourierHook};
use crate::jobs::away;
use crate::places::records::{self, Placed, PlacedStep};
use outlive_core::ending;
use outlive_core::event::{Event, Record};
use outlive_core::far::{HomeId, MAX_LINE};
use outlive_core::journal::{self, Journal};
use outlive_core::layout;
use outlive_core::place::ContainerRef;
use outlive_core::{JobDir, JobId, JournalWriter, Spec, State};
use outlive_sys::lock;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The replicas of the jobs that are followed.
#[derive(Default)]
pub struct Replicas(Mutex<HashMap<JobId, Replica>>);

/// One replica, as far as it was read or appended.
struct Replica {
    dir: JobDir,
    spec: Spec,
    state: State,
    /// Its size. If the file has another one, somebody else has appended.
    length: u64,
    torn: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in the replica now.
    Appended,
    /// It was there, or it is of no job that this home has placed there, or it is no record.
    Ignored,
    /// The replica is as large as it can be.
    TooMany,
}

impl Replicas {
    /// Begins to follow a job of this place. Returns the number of the last record that is here; `None` if no more are
    /// taken.
    pub fn follow(&self, courier: &Courier, id: &JobId) -> io::Result<Option<u64>> {
        let outlive = &courier.outlive;
        let mut all = self.lock();
        if let Some(replica) = all.get_mut(id) {
            return Ok(Some(replica.state.seq));
        }
        let dir = outlive.job_dir(id);
        let spec = outlive.read_spec(id).map_err(io::Error::other)?;
        // What this place says counts for its own jobs only, whichever home it claims to be.
        if spec.place != courier.place.name {
            return Err(io::Error::other("it is a job of another place"));
        }
        let mut replica = Replica {
            dir,
            spec,
            state: State::default(),
            length: 0,
            torn: false,
        };
        replica.read()?;
        if records::is_too_large(replica.length) {
            return Ok(None);
        }
        let seq = replica.state.seq;
        all.insert(id.clone(), replica);
        Ok(Some(seq))
    }

    /// Whether a job is followed.
    pub fn has(&self, id: &JobId) -> bool {
        self.lock().contains_key(id)
    }

    /// Follows a job no more.
    pub fn leave(&self, id: &JobId) {
        self.lock().remove(id);
    }

    /// The number of the last record of a job that is followed.
    pub fn seq(&self, id: &JobId) -> Option<u64> {
        self.lock().get(id).map(|replica| replica.state.seq)
    }

    /// Adds a line to the replica of a job. It is not synced.
    pub fn take(&self, courier: &Courier, id: &JobId, line: &str) -> io::Result<Taken> {
        let mut all = self.lock();
        let Some(replica) = all.get_mut(id) else {
            return Ok(Taken::Ignored);
        };
        match replica.take(courier, line) {
            // It was removed here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                all.remove(id);
                Ok(Taken::Ignored)
            }
            other => other,
        }
    }

    /// Syncs a replica, if it is followed.
    pub fn sync(&self, id: &JobId) -> io::Result<Option<Synced>> {
        let (path, synced) = match self.lock().get(id) {
            None => return Ok(None),
            Some(replica) => (replica.dir.journal(), replica.synced()),
        };
        // Without the lock, so that other jobs do not wait for the disk.
        layout::sync(&layout::open(&path)?)?;
        Ok(Some(synced))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Replica>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A replica that is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    pub seq: u64,
    pub spec: Spec,
    pub has_ended: bool,
    pub is_final: bool,
}

impl Replica {
    fn synced(&self) -> Synced {
        Synced {
            seq: self.state.seq,
            spec: self.spec.clone(),
            has_ended: self.state.end().is_some(),
            is_final: self.state.is_final(),
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let bytes = layout::read(&self.dir.journal())?;
        self.state = Journal::parse(&bytes).state;
        self.length = bytes.len() as u64;
        self.torn = bytes.last().is_some_and(|last| *last != b'\n');
        Ok(())
    }

    fn take(&mut self, courier: &Courier, line: &str) -> io::Result<Taken> {
        let Some(header) = journal::header(line.as_bytes()) else {
            return Ok(Taken::Ignored);
        };
        // What follows a newline would be a line of its own.
        if line.contains('\n') || line.len() > MAX_LINE || header.seq <= self.state.seq {
            return Ok(Taken::Ignored);
        }
        let record: Option<Record> = serde_json::from_str(line).ok();
        let event = record.as_ref().map(|record| &record.event);
        let ends = matches!(event, Some(Event::Ended(_)));
        if ends {
            courier.before_end(&self.dir, &self.spec)?;
        }
        if records::is_too_large(self.length) {
            return Ok(Taken::TooMany);
        }
        let _lock = take_lock(&self.dir)?;
        let file = layout::open_to_append(&self.dir.journal())?;
        if file.metadata()?.len() != self.length {
            self.read()?;
        }
        let comes_late = header.seq <= self.state.seq || self.state.is_final();
        if comes_late || ends && self.state.end().is_some() {
            return Ok(Taken::Ignored);
        }
        self.append(file, line)?;
        hooks::reach_courier(CourierHook::Appended);
        match record {
            Some(record) => drop(self.state.apply(&record)),
            // A newer program wrote it. Its number is used up.
            None => self.state.seq = header.seq,
        }
        Ok(Taken::Appended)
    }

    fn append(&mut self, mut file: File, line: &str) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if self.torn {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        // It is read again if this fails in the middle.
        let length = std::mem::replace(&mut self.length, u64::MAX);
        file.write_all(&bytes)?;
        self.length = length + bytes.len() as u64;
        self.torn = false;
        Ok(())
    }
}

/// The lock of the job, which whoever writes to its journal holds.
fn take_lock(dir: &JobDir) -> io::Result<File> {
    let file = layout::open_or_replace(&dir.lock())?;
    lock::wait(&file)?;
    Ok(file)
}

/// A job of this place that is not over as far as is known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub id: JobId,
    pub placed: Placed,
    /// The number of the last record in its replica.
    pub seq: u64,
    pub is_final: bool,
}

/// The jobs of this place that have a live link.
pub fn live(courier: &Courier) -> Vec<Standing> {
    let ids = ids_in(&courier.outlive.home().live()).unwrap_or_default();
    ids.iter().filter_map(|id| standing(courier, id)).collect()
}

/// One of them; `None` if it is of another place.
pub fn standing(courier: &Courier, id: &JobId) -> Option<Standing> {
    let outlive = &courier.outlive;
    let dir = outlive.job_dir(id);
    // Most jobs are of no place, and have no such file.
    let placed = Placed::read(&dir).ok()?;
    let spec = outlive.read_spec(id).ok()?;
    (spec.place == courier.place.name).then_some(())?;
    let journal = dir.read_journal().ok()?;
    Some(Standing {
        id: id.clone(),
        placed,
        seq: journal.state.seq,
        is_final: journal.state.is_final(),
    })
}

impl Standing {
    /// What its start was sent to, if that is a container.
    pub fn container(&self) -> Option<&ContainerRef> {
        self.placed.instance()?.container.as_ref()
    }

    /// Whether its start was sent to this home.
    pub fn is_at(&self, home: &HomeId) -> bool {
        let instance = self.placed.instance();
        instance.is_some_and(|instance| instance.home == *home)
    }
}

/// Appends a step of a start, under the lock of the job.
pub fn note(outlive: &Outlive, id: &JobId, step: &PlacedStep) -> io::Result<()> {
    let dir = outlive.job_dir(id);
    let _lock = take_lock(&dir)?;
    match step {
        // If it is lost in a power failure, the place is asked again.
        PlacedStep::Answered { .. } => records::append_placed(&dir, step),
        _ => records::append_placed_synced(&dir, step),
    }
}

/// Records the end of a job of which no more will be heard, because `placed` says that it was not started or is lost.
/// Does nothing for any other job. The end is then told as any other.
pub fn close(courier: &Courier, id: &JobId) -> io::Result<()> {
    let dir = courier.outlive.job_dir(id);
    let Some(outcome) = away::decided(&Placed::read(&dir)?) else {
        return Ok(());
    };
    let spec = courier.outlive.read_spec(id).ok();
    if let Some(spec) = &spec {
        bells::remember(&courier.outlive, &courier.place, spec)?;
    }
    let _lock = take_lock(&dir)?;
    let mut journal = JournalWriter::open(&dir.journal()).map_err(io::Error::other)?;
    away::close(&dir, spec.as_ref(), &mut journal, outcome)
}

/// Takes a job that is over from the running ones.
pub fn retire(outlive: &Outlive, id: &JobId) -> io::Result<()> {
    let dir = outlive.job_dir(id);
    let state = dir.read_journal().map_err(io::Error::other)?.state;
    let spec = outlive.read_spec(id).ok();
    if outlive.home().live_link(id).symlink_metadata().is_err() || !state.is_final() {
        return Ok(());
    }
    // The history is in the order of this clock: the one there may differ by days.
    ending::note(&dir, spec.as_ref(), clock::wall())?;
    hooks::reach_courier(CourierHook::Noted);
    // The control groups in the record are those of the other machine.
    ending::retire(&dir, spec.as_ref(), None)
}

#[cfg(test)]
pub(super) mod tests;
