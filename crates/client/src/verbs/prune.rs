//! Removes ended jobs by age, number or size.
//!
//! A job of which anything still runs is never removed. A job whose session must still be told
//! something is removed only when forced. First the links with the job's id are removed, while a lock
//! keeps anybody else from using the id. Then the directory is renamed, so that nobody sees half of it,
//! and finally removed. After the rename, links with this id may belong to another job.

mod far;
mod one;
mod reply;
mod retention;
mod sweep;

use crate::clock;
use crate::error::Error;
use crate::home::bell;
use crate::home::outlive::Outlive;
use crate::hooks::{self, PrunerHook as Hook};
use crate::inbox::told;
use crate::inbox::{EventId, Source};
use crate::jobs::away::{self, bells};
use crate::jobs::hold::{self, Removable};
use crate::jobs::presence;
use crate::moment;
use crate::verbs::prune_posts::prune_posts;
pub use outlive_api::request::{Prune, Selector};
use outlive_core::defaults::PRUNE_AGE;
use outlive_core::layout::{self, GONE};
use outlive_core::place::LOCAL;
use outlive_core::told::{self as told_record, BootMoment, Rules};
use outlive_core::{BootId, JobDir, JobId, Spec, WallTime, doorbell, links, named};
use outlive_sys::lock::{self, Lock, LockResult};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use sweep::sweep;

pub(crate) use one::remove;
pub(crate) use retention::retain;
pub(super) use sweep::{is_old, sweep_links};

/// A keeper that has recorded an end has little left to do. A suspended one is not waited for.
const CLEARING_UP_TAKES: Duration = match cfg!(test) {
    false => Duration::from_secs(1),
    // In the model check, the process that holds something does not continue meanwhile.
    true => Duration::ZERO,
};

/// The result of pruning.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    /// The jobs that were removed.
    pub removed: Vec<JobId>,
    /// The posts that were removed.
    pub removed_posts: Vec<JobId>,
    /// How much room that made.
    pub freed_bytes: u64,
    /// Jobs and posts that were kept because they have not been told.
    pub untold: Vec<JobId>,
    /// Jobs that were kept because a keeper still runs or somebody reads them.
    pub busy: Vec<JobId>,
    /// Jobs that were kept because a doorbell still has to ring.
    pub ringing: Vec<JobId>,
    /// Jobs and posts that could not be removed, with the reason.
    pub failed: Vec<(JobId, String)>,
    /// Directories of removed jobs and posts that could not be deleted, with the reason.
    pub left_behind: Vec<(PathBuf, String)>,
    /// Why pruning stopped early.
    pub unfinished: Option<String>,
    /// Events that will never be told, because their jobs or posts were removed.
    pub dropped: Vec<EventId>,
    /// The places that were not reached. Their jobs were kept.
    silent: far::Silent,
    /// Jobs that cannot be read or kept, with the reason. They are removed only when forced, and only
    /// if nothing of them can be running.
    pub unreadable: Vec<(JobId, String)>,
}

struct Ended {
    id: JobId,
    spec: Spec,
    is_selected: bool,
    ended: WallTime,
    age: Duration,
    bytes: u64,
    /// One of its doorbells still has to ring, and nothing else is left.
    rings: bool,
}

/// The rules of one run of `prune`.
pub(super) struct Pass<'a> {
    pub asked: &'a Prune,
    /// How long a session is waited for.
    pub rules: Rules,
    /// How long another process is waited for that still uses a job.
    pub patience: Duration,
}

/// Removes ended jobs, told posts, and what killed processes left behind.
pub fn prune(outlive: &Outlive, asked: &Prune) -> Result<Pruned, Error> {
    prune_by(outlive, asked, outlive.config()?.inbox.rules())
}

pub(crate) fn prune_by(outlive: &Outlive, asked: &Prune, rules: Rules) -> Result<Pruned, Error> {
    let pass = &Pass {
        asked,
        rules,
        patience: CLEARING_UP_TAKES,
    };
    let mut pruned = Pruned::default();
    let now = moment::when()?;
    let mut ended = Vec::new();
    for id in outlive.all_ids()? {
        match read(outlive, &id, &now, &asked.select) {
            Ok(Some(job)) if job.is_selected => ended.push(job),
            Ok(Some(_)) => {}
            // It is not over, or was just removed by another process.
            Ok(None) | Err(Error::NoSuchJob(_)) => {}
            // What cannot be read is not known to be selected.
            Err(_) if !asked.select.is_empty() => {}
            Err(_) if asked.force && !presence::may_run(outlive, &id) => {
                pruned.remove(outlive, id, None, pass, None);
            }
            Err(error) => pruned.unreadable.push((id, error.to_string())),
        }
    }
    for job in select(ended, asked) {
        hooks::reach_pruner(Hook::Selected);
        // Nobody here may ever ring for a job of a place. A job of this machine has a keeper that will.
        if job.rings && !(asked.force && job.spec.place != LOCAL) {
            pruned.ringing.push(job.id);
            continue;
        }
        let unheld = match hold::removable(&outlive.job_dir(&job.id)) {
            Removable::SomebodyWaits if !asked.force => {
                pruned.untold.push(job.id);
                continue;
            }
            Removable::IsRemoved => continue,
            Removable::SomebodyWaits => None,
            Removable::Yes(lock) => lock,
        };
        pruned.remove(outlive, job.id, Some(job.spec), pass, unheld);
    }
    // Report what was removed, even if the rest fails.
    let posts = match asked.select.is_empty() {
        true => prune_posts(outlive, pass, &mut pruned),
        false => Ok(()),
    };
    let rest = posts.and_then(|()| sweep(outlive));
    pruned.unfinished = rest.err().map(|error| error.to_string());
    Ok(pruned)
}

/// A job of which nothing is left, except perhaps a doorbell to ring. Returns `None` for a job that is
/// not over.
fn read(
    outlive: &Outlive,
    id: &JobId,
    now: &BootMoment,
    select: &Selector,
) -> Result<Option<Ended>, Error> {
    let dir = outlive.job_dir(id);
    let spec = outlive.read_spec(id)?;
    let (_, state) = presence::meet(outlive, id)?;
    let rings = doorbell::only_rings(&state, &spec.doorbells, clock::boot())
        || bells::any_waits(&dir, &spec, &state);
    match state.ended_at() {
        Some(at) if state.is_final() || rings => {
            let is_selected =
                select.admits_marks(&spec.session, &spec.task, state.labels(&spec), &spec.place);
            let boot = state.boot.clone().unwrap_or_else(|| BootId(String::new()));
            let happened = away::arrived(&dir, &spec).unwrap_or(BootMoment { boot, at });
            Ok(Some(Ended {
                id: id.clone(),
                spec,
                is_selected,
                ended: happened.at.wall,
                age: told_record::age(&happened, now),
                bytes: disk_usage(dir.path()),
                rings,
            }))
        }
        _ => Ok(None),
    }
}

fn disk_usage(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else {
        return 0;
    };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .map(|(path, metadata)| match metadata.is_dir() {
            // An output may consist of several files.
            true => metadata.blocks() * 512 + disk_usage(&path),
            false => metadata.blocks() * 512,
        })
        .sum()
}

/// The jobs to remove, oldest end first.
fn select(mut ended: Vec<Ended>, asked: &Prune) -> Vec<Ended> {
    ended.sort_by(|a, b| (b.ended, &b.id).cmp(&(a.ended, &a.id)));
    // A selection alone means all that it selects.
    let has_limits = asked.keep.is_some() || asked.max_size.is_some() || asked.older_than.is_some();
    let all = asked.all || (!has_limits && !asked.select.is_empty());
    let mut tally = Tally::of(asked);
    ended.retain(|job| {
        tally.add(job.bytes);
        all || tally.is_full() || tally.is_too_old(job.age)
    });
    ended.reverse();
    ended
}

/// Counts ended jobs, newest end first, against the limits of a request.
struct Tally {
    age: Option<Duration>,
    keep: Option<usize>,
    max_size: Option<u64>,
    jobs: usize,
    bytes: u64,
}

impl Tally {
    fn of(asked: &Prune) -> Tally {
        let nothing_else = asked.keep.is_none() && asked.max_size.is_none() && !asked.all;
        Tally {
            age: asked.older_than.or(nothing_else.then_some(PRUNE_AGE)),
            keep: asked.keep,
            max_size: asked.max_size,
            jobs: 0,
            bytes: 0,
        }
    }

    fn add(&mut self, bytes: u64) {
        self.jobs += 1;
        self.bytes += bytes;
    }

    /// Whether the job that was added last is one too many, or takes too much space. So are all older ones.
    fn is_full(&self) -> bool {
        let too_many = self.keep.is_some_and(|keep| self.jobs > keep);
        too_many || self.max_size.is_some_and(|most| self.bytes > most)
    }

    fn is_too_old(&self, age: Duration) -> bool {
        self.age.is_some_and(|limit| age > limit)
    }
}

/// Removes control groups that were in use when the job was closed: those of a job that it had started were inside.
fn remove_groups(outlive: &Outlive, dir: &JobDir, id: &JobId, spec: Option<&Spec>) {
    // Without limits there are none, and the journal need not be read.
    if spec.is_none_or(|spec| spec.limits.want_group() && spec.place == LOCAL)
        && let Ok(journal) = dir.read_journal()
        && let Some(confined) = &journal.state.confined
    {
        confined.remove(outlive.home(), id);
    }
}

impl Pruned {
    /// Removes a job. If that fails, the others are still removed.
    fn remove(
        &mut self,
        outlive: &Outlive,
        id: JobId,
        spec: Option<Spec>,
        pass: &Pass<'_>,
        unheld: Option<Lock>,
    ) {
        if let Err(error) = self.try_to_remove(outlive, id.clone(), spec, pass, unheld) {
            self.failed.push((id, error.to_string()));
        }
    }

    /// Removes a job, unless its session must still be told something or another process uses it.
    fn try_to_remove(
        &mut self,
        outlive: &Outlive,
        id: JobId,
        spec: Option<Spec>,
        pass: &Pass<'_>,
        unheld: Option<Lock>,
    ) -> Result<(), Error> {
        let dir = outlive.job_dir(&id);
        let failed = || Error::io("cannot remove", dir.path());
        // Another process may be removing one of its links, or its keeper may be cleaning up. Both use
        // names that may soon belong to another job.
        let until = Instant::now() + pass.patience;
        let (alone, unkept) = loop {
            let alone = named::take(dir.path()).map_err(failed())?;
            if let (Some(alone), Some(unkept)) = (alone, unkept(&dir)?) {
                break (alone, unkept);
            }
            match dir.path().exists() {
                true if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
                true => {
                    self.busy.push(id);
                    return Ok(());
                }
                false => return Ok(()),
            }
        };
        hooks::reach_pruner(Hook::Alone);
        let now = outlive.read_spec(&id).ok();
        // The id may belong to another job by now. A job that could not be read is removed based on
        // what can be read now.
        if spec.is_some() && now != spec {
            return Ok(());
        }
        let mut dropped = Vec::new();
        match Source::read(outlive, &id) {
            Ok(Some(source)) => {
                if !pass.asked.force && !told::awaited(&source, &pass.rules)?.is_empty() {
                    self.untold.push(id);
                    return Ok(());
                }
                dropped = told::unclaimed(&source);
            }
            // It is unknown whether its session was told, so it stays.
            Err(error) if !pass.asked.force => return Err(error),
            Ok(None) | Err(_) => {}
        }
        let spec = now;
        if let Some(spec) = &spec
            && let Err(error) = far::remove(outlive, &dir, spec, pass, &mut self.silent)
            && !pass.asked.force
        {
            return Err(error);
        }
        remove_groups(outlive, &dir, &id, spec.as_ref());
        let bytes = disk_usage(dir.path());
        if let Some(spec) = &spec {
            links::unlink_job(outlive.home(), spec, &alone);
        }
        hooks::reach_pruner(Hook::Unlinked);
        let random = crate::random::number()?;
        let gone = dir
            .path()
            .with_file_name(format!("{GONE}{id}-{random:04x}"));
        fs::rename(dir.path(), &gone).map_err(failed())?;
        hooks::reach_pruner(Hook::Renamed);
        bell::tell(outlive, &id);
        // From here on the job is gone, whatever happens to its files.
        self.dropped.extend(dropped);
        self.removed.push(id.clone());
        // On NFS, an open file prevents its directory from being removed.
        drop((unkept, unheld));
        match fs::remove_dir_all(&gone) {
            // Another pruner removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                self.left_behind.push((gone, error.to_string()));
                return Ok(());
            }
            Ok(()) => {}
        }
        self.freed_bytes += bytes;
        Ok(())
    }
}

/// The lock of a job without a keeper; `None` if it has one.
fn unkept(dir: &JobDir) -> Result<Option<Option<Lock>>, Error> {
    let failed = Error::io("cannot look at the lock", dir.lock());
    match layout::open_or_replace(&dir.lock()).and_then(lock::take) {
        Ok(LockResult::Acquired(lock)) => Ok(Some(Some(lock))),
        Ok(LockResult::Held) => Ok(None),
        // A directory that is no job's any more has no keeper.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(None)),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ended_ms: u64, bytes: u64) -> Ended {
        let id = JobId::parse(&format!("j{ended_ms}")).expect("valid");
        let spec = serde_json::json!({
            "format": 1, "id": id, "place": "local", "command": "x", "argv": ["x"], "cwd": "/",
            "grace_ms": 1, "notify": "end", "leftovers": "keep"
        });
        Ended {
            id,
            spec: serde_json::from_value(spec).expect("a spec"),
            is_selected: true,
            ended: WallTime::from_ms(ended_ms),
            age: Duration::from_millis(500 - ended_ms),
            bytes,
            rings: false,
        }
    }

    fn removed(asked: Prune) -> Vec<u64> {
        let jobs = vec![job(100, 10), job(300, 10), job(200, 10), job(400, 10)];
        select(jobs, &asked)
            .into_iter()
            .map(|job| job.ended.ms())
            .collect()
    }

    #[test]
    fn oldest_ends_go_first() {
        assert_eq!(
            removed(Prune {
                keep: Some(1),
                ..Prune::default()
            }),
            [100, 200, 300]
        );
        assert_eq!(
            removed(Prune {
                max_size: Some(25),
                ..Prune::default()
            }),
            [100, 200]
        );
        assert_eq!(
            removed(Prune {
                older_than: Some(Duration::from_millis(150)),
                ..Prune::default()
            }),
            [100, 200, 300]
        );
        assert_eq!(
            removed(Prune {
                all: true,
                ..Prune::default()
            }),
            [100, 200, 300, 400]
        );
        assert_eq!(removed(Prune::default()), [0u64; 0]);
    }
}
