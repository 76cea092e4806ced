//! Removes what killed launchers and pruners left behind: directories with temporary names and dangling links.

use crate::error::Error;
use crate::home::outlive::{Outlive, ids_in};
use crate::hooks::{self, PrunerHook as Hook};
use crate::jobs::presence;
use crate::verbs::prune_posts::sweep_inboxes;
use outlive_core::layout::{GONE, NEW};
use outlive_core::{JobDir, JobId, history, links};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory that is this old and still has its temporary name was left by a launcher that died.
const LAUNCH_TAKES: Duration = match cfg!(test) {
    false => Duration::from_secs(60),
    // The model check pauses a launcher for this long.
    true => Duration::ZERO,
};

/// Removes what killed launchers and pruners left behind.
pub(super) fn sweep(outlive: &Outlive) -> Result<(), Error> {
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
    let home = outlive.home();
    let jobs = |id: &JobId| outlive.job_dir(id).path().to_owned();
    sweep_links(&home.live(), jobs, |id| {
        links::link_live(home, id, &outlive.job_dir(id))
    });
    sweep_inboxes(outlive)?;
    sweep_names(&home.names());
    let sessions = fs::read_dir(home.sessions());
    for session in sessions.into_iter().flatten().flatten() {
        sweep_links(&session.path(), jobs, |id| relink(outlive, id));
        let _ = fs::remove_dir(session.path());
    }
    history::forget_days(outlive.home(), |id| outlive.job_dir(id).path().is_dir())
        .map_err(Error::io("cannot tidy", outlive.home().ended()))
}

/// Restores the links of the job with this id, if there is one.
fn relink(outlive: &Outlive, id: &JobId) -> io::Result<()> {
    let spec = outlive.read_spec(id);
    spec.map_or(Ok(()), |spec| links::link_to_session(outlive.home(), &spec))
}

/// Removes dangling links, named by ids, that a killed launcher or pruner left in a directory. The
/// target of a link may appear at this moment. So after the removal this checks again, and restores the
/// link if needed. If the process is killed in between, the end of the job restores it (see
/// `core::ending`).
pub(in crate::verbs) fn sweep_links(
    directory: &Path,
    target: impl Fn(&JobId) -> PathBuf,
    link_again: impl Fn(&JobId) -> io::Result<()>,
) {
    for id in ids_in(directory).unwrap_or_default() {
        let link = directory.join(id.as_str());
        if target(&id).exists() || !is_old(&link) {
            continue;
        }
        hooks::reach_pruner(Hook::LinkLeadsNowhere);
        let _ = fs::remove_file(&link);
        hooks::reach_pruner(Hook::LinkRemoved);
        if target(&id).exists() {
            let _ = link_again(&id);
        }
    }
}

/// Removes dangling name links. The next job with a name replaces its link anyway.
fn sweep_names(directory: &Path) {
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

/// Whether it is older than any launch takes.
pub(in crate::verbs) fn is_old(path: &Path) -> bool {
    let made = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| made.elapsed().unwrap_or_default() >= LAUNCH_TAKES)
}
