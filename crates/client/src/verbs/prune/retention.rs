//! Removes ended jobs by itself, so that a home does not grow for ever.
//!
//! There is no daemon, so a start does it, after its job runs. What it costs is bounded:
//!
//! - The time of the file `retention` in the home says when jobs were last looked through. A start that finds it
//!   recent makes one system call. The first start in a home only makes the file.
//! - The file is locked meanwhile, so of many processes one works, and the others go on.
//! - One pass takes [`TAKES`]. What is left is for a start some minutes later. A pass that is killed has renewed
//!   nothing, so the next start repeats it.
//!
//! The ends are read from the list `ended`, newest first. It is a cache, so it only preselects: before a job is
//! removed, its journal is read, and the same checks are made and locks taken as in `prune`. A job whose end is not
//! in the list is not removed.
//!
//! Nothing is reported: the caller asked for something else. A removal that fails is tried again by the next pass.

use super::{Pass, Pruned, Tally, disk_usage, prune_posts, read, sweep};
use crate::clock;
use crate::config::{Config, Retention};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::hooks::{self, PrunerHook as Hook};
use crate::jobs::hold::{self, Removable};
use crate::moment;
use crate::random;
use outlive_api::request::Prune;
use outlive_core::defaults::{RETAIN_AT_LEAST, RETAIN_EVERY};
use outlive_core::history::{self, Entry};
use outlive_core::layout;
use outlive_core::place::LOCAL;
use outlive_core::told::BootMoment;
use outlive_sys::lock::{self, LockResult};
use std::collections::HashSet;
use std::fs::{self, File};
use std::time::{Duration, Instant, SystemTime};

/// How long one pass may take. Somebody waits for the start that makes it.
const TAKES: Duration = Duration::from_millis(250);
/// When the next pass follows one that left something.
const AGAIN: Duration = Duration::from_secs(5 * 60);
/// How many of the newest ended jobs are measured. Without a limit for their number there may be very many; older
/// ones then count as empty.
const MOST_MEASURED: usize = 10_000;

/// Whether anything is left for the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Finished,
    OutOfTime,
}

/// Removes what is beyond the limits of the configuration, if it is time for that.
pub(crate) fn retain(outlive: &Outlive) {
    // A start does not fail because of other jobs.
    let _ = try_to_retain(outlive);
}

fn try_to_retain(outlive: &Outlive) -> Result<(), Error> {
    let stamp = outlive.home().retention();
    let failed = || Error::io("cannot use", &stamp);
    match fs::metadata(&stamp) {
        Ok(found) if !is_due(found.modified().map_err(failed())?) => return Ok(()),
        Ok(_) => {}
        // Whoever has used this home before is not surprised by the first start of this version.
        Err(_) => return layout::open_or_make(&stamp).map(drop).map_err(failed()),
    }
    let config = outlive.config()?;
    if !config.retention.enabled {
        return Ok(());
    }
    let file = layout::open_or_make(&stamp).map_err(failed())?;
    let shared = file.try_clone().map_err(failed())?;
    let LockResult::Acquired(_lock) = lock::take(file).map_err(failed())? else {
        return Ok(());
    };
    // Another process may have finished just before.
    let modified = shared.metadata().and_then(|found| found.modified());
    if !is_due(modified.map_err(failed())?) {
        return Ok(());
    }
    hooks::reach_pruner(Hook::RetentionBegun);
    let progress = pass(outlive, &config)?;
    hooks::reach_pruner(Hook::RetentionDone);
    renew(&shared, progress).map_err(failed())
}

/// Whether the next pass is due. A time in the future was made by a clock that was wrong.
fn is_due(last: SystemTime) -> bool {
    let since = SystemTime::now().duration_since(last);
    since.is_err() || since.is_ok_and(|since| since >= RETAIN_EVERY)
}

fn renew(stamp: &File, progress: Progress) -> std::io::Result<()> {
    let now = SystemTime::now();
    stamp.set_modified(match progress {
        Progress::Finished => now,
        Progress::OutOfTime => now - (RETAIN_EVERY - AGAIN),
    })
}

fn pass(outlive: &Outlive, config: &Config) -> Result<Progress, Error> {
    let limits = limits(&config.retention);
    if limits == Prune::default() {
        return Ok(Progress::Finished);
    }
    let begun = Instant::now();
    let until = begun + TAKES;
    let pass = &Pass {
        asked: &limits,
        rules: config.inbox.rules(),
        // A keeper that still clears up is met again in an hour.
        patience: Duration::ZERO,
    };
    let now = moment::when()?;
    let mut pruned = Pruned::default();
    // The other half of the time is for removals, so that each pass gets on.
    let (mut candidates, progress) = beyond(outlive, &limits, begun + TAKES / 2)?;
    // Some may have to stay. If they take all the time of a pass, the next one begins elsewhere.
    if !candidates.is_empty() {
        let first = usize::from(random::number()?) % candidates.len();
        candidates.rotate_left(first);
    }
    for candidate in candidates {
        if Instant::now() >= until {
            return Ok(Progress::OutOfTime);
        }
        remove(outlive, candidate, pass, &now, &mut pruned);
    }
    if limits.older_than.is_some() {
        prune_posts(outlive, pass, &mut pruned)?;
    }
    sweep(outlive)?;
    Ok(progress)
}

fn limits(retention: &Retention) -> Prune {
    Prune {
        older_than: Some(retention.age).filter(|age| !age.is_zero()),
        keep: Some(retention.jobs as usize).filter(|jobs| *jobs > 0),
        max_size: Some(retention.size).filter(|size| *size > 0),
        ..Prune::default()
    }
}

/// A job that is beyond a limit, as the list of ends has it.
struct Candidate {
    entry: Entry,
    /// Beyond their number or size, so that its age does not count.
    is_in_excess: bool,
}

/// The jobs beyond the limits, oldest end first; and whether the whole list was read.
fn beyond(
    outlive: &Outlive,
    limits: &Prune,
    until: Instant,
) -> Result<(Vec<Candidate>, Progress), Error> {
    let newest = history::newest(outlive.home());
    let newest = newest.map_err(Error::io("cannot read", outlive.home().ended()))?;
    let mut tally = Tally::of(limits);
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    let mut progress = Progress::Finished;
    for entry in newest {
        if Instant::now() >= until {
            progress = Progress::OutOfTime;
            break;
        }
        if !seen.insert(entry.id.clone()) {
            continue;
        }
        if !tally.is_full() {
            let dir = outlive.job_dir(&entry.id);
            // It was removed, and another job of that day was not.
            if !dir.path().is_dir() {
                continue;
            }
            let measured = limits.max_size.is_some() && seen.len() <= MOST_MEASURED;
            tally.add(match measured {
                true => disk_usage(dir.path()),
                false => 0,
            });
        }
        let age = Duration::from_millis(clock::wall().ms().saturating_sub(entry.ended.ms()));
        let is_in_excess = tally.is_full();
        if is_in_excess || tally.is_too_old(age) {
            candidates.push(Candidate {
                entry,
                is_in_excess,
            });
        }
    }
    candidates.reverse();
    Ok((candidates, progress))
}

/// Removes a job if it is what the list says, and nothing speaks against it.
fn remove(
    outlive: &Outlive,
    candidate: Candidate,
    pass: &Pass<'_>,
    now: &BootMoment,
    pruned: &mut Pruned,
) {
    let id = candidate.entry.id;
    let Ok(Some(job)) = read(outlive, &id, now, &pass.asked.select) else {
        return;
    };
    let is_too_old = pass.asked.older_than.is_some_and(|age| job.age > age);
    // A start does not wait for a network. `prune` removes such a job at its place, too.
    if job.spec.place != LOCAL {
        return;
    }
    if job.rings || job.age <= RETAIN_AT_LEAST || !(candidate.is_in_excess || is_too_old) {
        return;
    }
    hooks::reach_pruner(Hook::Selected);
    if let Removable::Yes(unheld) = hold::removable(&outlive.job_dir(&id)) {
        pruned.remove(outlive, id, Some(job.spec), pass, unheld);
    }
}
