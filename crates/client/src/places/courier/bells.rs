//! Doorbells that ring here, for the ends of jobs that run there.
//!
//! The doorbells of the configuration are those of this machine: their programs and secrets are here. So the far keeper
//! rings only `--on-end`. A file in `places/<key>/bells` says that a job has doorbells which have not rung, from before its end
//! is in the replica. Each attempt is recorded in `placed`; one that is cut short by a kill is repeated.
//!
//! A place that is forgotten has no courier any more. Whoever forgets it rings for the jobs that are lost by that.

use super::desk::Courier;
use super::{replicas, thread};
use crate::clock;
use crate::doorbell::ON_END;
use crate::home::outlive::{Outlive, ids_in};
use crate::hooks::{self, CourierHook};
use crate::places::Place;
use crate::places::records::{self, Placed, PlacedStep};
use outlive_core::doorbell::{Doorbell, next_try};
use outlive_core::layout;
use outlive_core::units::show_duration;
use outlive_core::{BootTime, JobDir, JobId, Spec, State, ending, words};
use outlive_sys::process::{PidFd, own};
use outlive_sys::{file, spawn};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// At most this many bytes of a failed command's standard error are reported.
const WORDS: u64 = 300;

/// The jobs whose doorbells are being rung, and whether they are to be looked at again after that.
#[derive(Default)]
pub struct Bells(Mutex<HashMap<JobId, bool>>);

/// The doorbells of a job that ring here.
pub fn here(spec: &Spec) -> impl Iterator<Item = &Doorbell> {
    spec.doorbells.iter().filter(|bell| bell.name != ON_END)
}

fn directory(outlive: &Outlive, place: &Place) -> PathBuf {
    records::directory(outlive, place).join("bells")
}

/// Remembers that the doorbells of a job are to ring. Returns once a power failure does not change that.
pub fn remember(outlive: &Outlive, place: &Place, spec: &Spec) -> io::Result<()> {
    if here(spec).next().is_none() {
        return Ok(());
    }
    let directory = directory(outlive, place);
    let path = directory.join(spec.id.as_str());
    if path.exists() {
        return Ok(());
    }
    layout::make_directory(&directory)?;
    layout::open_or_make(&path)?;
    layout::sync_directory(&directory)
}

/// Rings what is due, for this job or for all, and keeps the courier while something may become due.
pub fn look(courier: &Arc<Courier>, only: Option<&JobId>) {
    let ids = ids_in(&directory(&courier.outlive, &courier.place)).unwrap_or_default();
    courier.keep_for_bells(ids.len());
    for id in ids {
        if only.is_some_and(|only| *only != id) {
            continue;
        }
        if !courier.bells.begin(&id) {
            continue;
        }
        let (mine, job) = (Arc::clone(courier), id.clone());
        if thread("bells", move || ring_until_done(&mine, &job)).is_err() {
            courier.bells.lock().remove(&id);
        }
    }
}

/// Rings for the jobs of a place that is forgotten, each bell at most a few times. Returns when that is done.
pub fn ring_now(outlive: &Outlive, place: &Place) {
    /// Commands that run at once.
    const AT_ONCE: usize = 8;
    let ids = ids_in(&directory(outlive, place)).unwrap_or_default();
    let until = clock::boot() + PATIENCE;
    for some in ids.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for id in some {
                // What could not be rung is in the record of the job.
                scope.spawn(move || ring_all(outlive, id, Some(until)));
            }
        });
    }
}

/// How long whoever forgets a place goes on with doorbells that fail.
const PATIENCE: Duration = Duration::from_secs(10);

/// Rings for one job. It is looked at once more if its end came meanwhile.
fn ring_until_done(courier: &Courier, job: &JobId) {
    let directory = directory(&courier.outlive, &courier.place);
    loop {
        let is_done = ring_all(&courier.outlive, job, None).unwrap_or_else(|error| {
            courier.log.note(&format!("cannot ring for {job}: {error}"));
            false
        });
        if is_done {
            let _ = fs::remove_file(directory.join(job.as_str()));
        }
        let mut bells = courier.bells.lock();
        match bells.get_mut(job) {
            Some(again) if *again && !is_done => *again = false,
            _ => {
                bells.remove(job);
                break;
            }
        }
    }
    let left = ids_in(&directory).unwrap_or_default();
    courier.keep_for_bells(left.len());
}

impl Courier {
    /// Called before the end of a job is written to its replica.
    pub fn before_end(&self, dir: &JobDir, spec: &Spec) -> io::Result<()> {
        // Its names are on the disk since its start.
        ending::relink(dir, spec)?;
        remember(&self.outlive, &self.place, spec)
    }

    /// Rings for the jobs that have ended.
    pub fn look_at_bells(self: &Arc<Courier>) {
        look(self, None);
    }

    /// Rings for this job, which has ended.
    pub fn ring_for(self: &Arc<Courier>, job: &JobId) {
        look(self, Some(job));
    }
}

impl Bells {
    /// Whether a thread is to be started for this job. If there is one, it looks once more.
    fn begin(&self, job: &JobId) -> bool {
        let mut bells = self.lock();
        match bells.get_mut(job) {
            Some(again) => *again = true,
            None => return bells.insert(job.clone(), false).is_none(),
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rings the doorbells of a job until each has rung or was given up. Returns whether that is so; `false` if the job goes
/// on, or a bell would ring later than until then.
fn ring_all(outlive: &Outlive, job: &JobId, until: Option<BootTime>) -> io::Result<bool> {
    let dir = outlive.job_dir(job);
    if !dir.path().is_dir() {
        return Ok(true);
    }
    let spec = outlive.read_spec(job).map_err(io::Error::other)?;
    let state = dir.read_journal().map_err(io::Error::other)?.state;
    let Some(end) = state.end() else {
        return Ok(false);
    };
    loop {
        let placed = Placed::read(&dir)?;
        let due = here(&spec)
            .filter(|bell| bell.on.rings_for(&end.outcome))
            .filter_map(|bell| Some((rings_at(&placed, bell)?, bell)))
            .min_by_key(|(at, _)| *at);
        let Some((at, bell)) = due else {
            return Ok(true);
        };
        if until.is_some_and(|until| at > until) {
            return Ok(false);
        }
        let left = at.since(clock::boot());
        if !left.is_zero() {
            // Retries are minutes apart, and the machine may be suspended meanwhile.
            std::thread::sleep(left);
            continue;
        }
        hooks::reach_courier(CourierHook::Ringing);
        let failure = ring(&spec, &state, bell)
            .unwrap_or_else(|error| Some(format!("cannot be run: {error}")));
        hooks::reach_courier(CourierHook::Rang);
        let step = PlacedStep::Rung {
            doorbell: bell.name.clone(),
            attempt: attempts(&placed, bell) + 1,
            failure,
            at: clock::wall(),
        };
        replicas::note(outlive, job, &step)?;
    }
}

fn attempts(placed: &Placed, bell: &Doorbell) -> u32 {
    let is_of = |step: &&PlacedStep| matches!(step, PlacedStep::Rung { doorbell, .. } if *doorbell == bell.name);
    placed.steps.iter().filter(is_of).count() as u32
}

/// When a doorbell rings next. `None` if it has rung or was given up.
fn rings_at(placed: &Placed, bell: &Doorbell) -> Option<BootTime> {
    let now = clock::boot();
    let last = placed.steps.iter().rev().find_map(|step| match step {
        PlacedStep::Rung {
            doorbell,
            failure,
            at,
            ..
        } if *doorbell == bell.name => Some((failure.is_none(), *at)),
        _ => None,
    });
    match last {
        None => Some(now),
        Some((true, _)) => None,
        Some((false, at)) => {
            let ago = clock::wall().since(at);
            next_try(attempts(placed, bell), now - ago)
        }
    }
}

/// Runs the command of a doorbell. Returns why it failed, if it did.
fn ring(spec: &Spec, state: &State, bell: &Doorbell) -> io::Result<Option<String>> {
    let (program, arguments) = bell.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let said = file::in_memory("outlive-bell")?;
    let mut command = Command::new(program.as_os_str());
    command
        .args(arguments.iter().map(|argument| argument.as_os_str()))
        .process_group(0)
        .stdin(event(spec, state)?)
        .stdout(Stdio::null())
        .stderr(said.try_clone()?);
    let mut child = spawn::start(&mut command)?;
    let limit = bell.time_limit();
    let has_ended = match PidFd::open(child.id().cast_signed())? {
        Some(process) => process.wait_for_end(Some(limit))?,
        None => true,
    };
    if !has_ended {
        let _ = own::kill_group(child.id().cast_signed());
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok(
        failure(status, has_ended, limit).map(|failure| match words_of(said) {
            words if words.is_empty() => failure,
            words => format!("{failure}: {words}"),
        }),
    )
}

fn failure(status: ExitStatus, has_ended: bool, limit: Duration) -> Option<String> {
    match (status.code(), has_ended) {
        (_, false) => Some(format!(
            "took longer than {}, and was killed",
            show_duration(limit)
        )),
        (Some(0), true) => None,
        (Some(code), true) => Some(format!("ended with {code}")),
        (None, true) => Some(format!(
            "was ended by signal {}",
            status.signal().unwrap_or_default()
        )),
    }
}

/// The end of what a command wrote on its standard error.
fn words_of(mut said: File) -> String {
    let mut bytes = Vec::new();
    let size = said.metadata().map_or(0, |metadata| metadata.len());
    let _ = said
        .seek(SeekFrom::Start(size.saturating_sub(WORDS)))
        .and_then(|_| said.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    // The cut may have split a character.
    text.trim_start_matches('\u{fffd}').trim().to_owned()
}

/// The job's end as an event in JSON, in a file in memory. The command that rings replaces it by the full one.
fn event(spec: &Spec, state: &State) -> io::Result<File> {
    let event = words::end_event(spec, state).ok_or(io::ErrorKind::NotFound)?;
    let mut file = file::in_memory("outlive-event")?;
    file.write_all(&serde_json::to_vec(&event)?)?;
    file.rewind()?;
    Ok(file)
}
