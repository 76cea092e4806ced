//! Remove ended jobs by age, count or size.
//!
//! Never one of which anything runs; never one whose session has not been told of its end, unless
//! forced. A directory is renamed before it is removed, so that nobody meets half of it.

use crate::error::Error;
use crate::hold::{self, Removable};
use crate::moment;
use crate::outlive::Outlive;
use crate::presence;
use crate::told;
use crate::verbs::prune_posts::{prune_posts, sweep_inboxes};
use outlive_core::layout::{GONE, NEW};
use outlive_core::told::{self as told_record, Rules, When};
use outlive_core::{BootId, JobDir, JobId, Spec, history};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What nothing else is asked for.
pub const DEFAULT_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A directory still without its name after this long was left by a launcher that died.
const LAUNCH_TAKES: Duration = Duration::from_secs(60);

/// Which ended jobs to remove: those that any of these names.
#[derive(Clone, Debug, Default)]
pub struct Prune {
    /// Counted from the end.
    pub older_than: Option<Duration>,
    /// All but the newest so many.
    pub keep: Option<usize>,
    /// The oldest, until the rest takes no more than this.
    pub max_size: Option<u64>,
    pub all: bool,
    /// Also those whose end nobody was told, and directories that cannot be read.
    pub force: bool,
    /// How long a session is waited for.
    pub rules: Rules,
}

/// What was removed.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    pub removed: Vec<JobId>,
    pub removed_posts: Vec<JobId>,
    pub freed_bytes: u64,
    /// Jobs and posts that would have been removed, but nobody has been told of them.
    pub untold: Vec<JobId>,
    /// Cannot be read; removed only when forced.
    pub unreadable: Vec<JobId>,
}

struct Ended {
    id: JobId,
    spec: Spec,
    ended_ms: u64,
    age_ms: u64,
    bytes: u64,
}

pub fn prune(outlive: &Outlive, asked: &Prune) -> Result<Pruned, Error> {
    let mut pruned = Pruned::default();
    let now = moment::when()?;
    let mut ended = Vec::new();
    for id in outlive.all_ids()? {
        match read(outlive, &id, &now) {
            Ok(Some(job)) => ended.push(job),
            // Not over, or removed by somebody else just now.
            Ok(None) | Err(Error::NoSuchJob(_)) => {}
            Err(_) if asked.force && !presence::is_kept(&outlive.job_dir(&id)).unwrap_or(true) => {
                pruned.remove(outlive, id, None)?;
            }
            Err(_) => pruned.unreadable.push(id),
        }
    }
    for job in select(ended, asked) {
        if !asked.force && told::is_awaited(outlive, &job.id, &asked.rules)? {
            pruned.untold.push(job.id);
            continue;
        }
        let alone = match hold::removable(&outlive.job_dir(&job.id)) {
            Removable::SomebodyWaits if !asked.force => {
                pruned.untold.push(job.id);
                continue;
            }
            Removable::IsRemoved => continue,
            Removable::SomebodyWaits => None,
            Removable::Yes(lock) => lock,
        };
        pruned.remove(outlive, job.id, Some(&job.spec))?;
        drop(alone);
    }
    prune_posts(outlive, asked, &mut pruned)?;
    sweep(outlive)?;
    Ok(pruned)
}

/// A job of which nothing is left, or `None` for one that is not over.
fn read(outlive: &Outlive, id: &JobId, now: &When) -> Result<Option<Ended>, Error> {
    let dir = outlive.job_dir(id);
    let spec = outlive.read_spec(id)?;
    let (_, state) = presence::meet(outlive, id)?;
    match state.ended_at() {
        Some(at) if state.is_final() => {
            let boot = state.boot.unwrap_or_else(|| BootId(String::new()));
            Ok(Some(Ended {
                id: id.clone(),
                spec,
                ended_ms: at.wall_ms,
                age_ms: told_record::age_ms(&When { boot, at }, now),
                bytes: disk_usage(dir.path()),
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
            // An output may lie in several files.
            true => metadata.blocks() * 512 + disk_usage(&path),
            false => metadata.blocks() * 512,
        })
        .sum()
}

/// Those to remove, oldest end first.
fn select(mut ended: Vec<Ended>, asked: &Prune) -> Vec<Ended> {
    ended.sort_by(|a, b| (b.ended_ms, &b.id).cmp(&(a.ended_ms, &a.id)));
    let nothing_else = asked.keep.is_none() && asked.max_size.is_none() && !asked.all;
    let age = asked.older_than.or(nothing_else.then_some(DEFAULT_AGE));
    let mut size = 0;
    let mut rank = 0;
    ended.retain(|job| {
        size += job.bytes;
        rank += 1;
        let too_old = age.is_some_and(|age| u128::from(job.age_ms) > age.as_millis());
        let too_many = asked.keep.is_some_and(|keep| rank > keep);
        let too_large = asked.max_size.is_some_and(|most| size > most);
        asked.all || too_old || too_many || too_large
    });
    ended.reverse();
    ended
}

impl Pruned {
    fn remove(&mut self, outlive: &Outlive, id: JobId, spec: Option<&Spec>) -> Result<(), Error> {
        if let Some(bytes) = remove(outlive, &id, spec)? {
            self.freed_bytes += bytes;
            self.removed.push(id);
        }
        Ok(())
    }
}

/// Removes a job's directory and its links; says how much that freed, or `None` if somebody else
/// was first.
fn remove(outlive: &Outlive, id: &JobId, spec: Option<&Spec>) -> Result<Option<u64>, Error> {
    let dir = outlive.job_dir(id);
    let bytes = disk_usage(dir.path());
    let random = crate::random::number()?;
    let gone = dir
        .path()
        .with_file_name(format!("{GONE}{id}-{random:04x}"));
    match fs::rename(dir.path(), &gone) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(Error::io("cannot remove", dir.path()))?,
    }
    let home = outlive.home();
    let session = spec
        .and_then(|spec| spec.session.as_ref())
        .map(|session| home.session(session));
    let name = spec
        .and_then(|spec| spec.name.as_ref())
        .map(|name| home.name(name));
    // Links that are left lead nowhere and are passed over.
    let _ = fs::remove_file(home.live_link(id));
    if let Some(session) = session {
        let _ = fs::remove_file(session.join(id.as_str()));
        let _ = fs::remove_dir(session);
    }
    if let Some(session) = spec.and_then(|spec| spec.session.as_ref()) {
        let inbox = home.inbox(session);
        let _ = fs::remove_file(inbox.join(id.as_str()));
        let _ = fs::remove_dir(inbox);
    }
    if let Some(name) = name.filter(|name| leads_to(name, id)) {
        let _ = fs::remove_file(name);
    }
    match fs::remove_dir_all(&gone) {
        // Another pruner swept it up.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other.map_err(Error::io("cannot remove", &gone))?,
    }
    Ok(Some(bytes))
}

fn leads_to(link: &Path, id: &JobId) -> bool {
    fs::read_link(link)
        .is_ok_and(|target| target.file_name().is_some_and(|name| name == id.as_str()))
}

/// Removes what launchers and pruners left behind when they died.
fn sweep(outlive: &Outlive) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(outlive.home().jobs()) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let abandoned =
            name.starts_with(GONE) || name.starts_with(NEW) && is_abandoned(&entry.path());
        if abandoned {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    for id in outlive.live_ids()? {
        let link = outlive.home().live_link(&id);
        let leads_nowhere = !outlive.job_dir(&id).path().exists();
        if leads_nowhere && is_old(&link) {
            let _ = fs::remove_file(link);
        }
    }
    sweep_inboxes(outlive)?;
    sweep_links(&outlive.home().names());
    let sessions = fs::read_dir(outlive.home().sessions());
    for session in sessions.into_iter().flatten().flatten() {
        sweep_links(&session.path());
        let _ = fs::remove_dir(session.path());
    }
    history::forget_days(outlive.home(), |id| outlive.job_dir(id).path().is_dir())
        .map_err(Error::io("cannot tidy", outlive.home().ended()))
}

/// Removes links that lead nowhere: of a launcher or a pruner that died, or a job that was damaged.
fn sweep_links(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let link = entry.path();
        if link.is_symlink() && !link.exists() && is_old(&link) {
            let _ = fs::remove_file(link);
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    let kept = presence::is_kept(&JobDir::at(path.to_owned())).unwrap_or(true);
    !kept && is_old(path)
}

/// Older than a launch takes.
pub(super) fn is_old(path: &Path) -> bool {
    let made = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| made.elapsed().unwrap_or_default() > LAUNCH_TAKES)
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
            ended_ms,
            age_ms: 500 - ended_ms,
            bytes,
        }
    }

    fn removed(asked: Prune) -> Vec<u64> {
        let jobs = vec![job(100, 10), job(300, 10), job(200, 10), job(400, 10)];
        select(jobs, &asked)
            .into_iter()
            .map(|job| job.ended_ms)
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
