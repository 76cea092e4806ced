//! Remove posts that were told, with the jobs, and what killed posters and consumers left.

use super::prune::{DEFAULT_AGE, Prune, Pruned, is_old};
use crate::error::Error;
use crate::inbox::{Item, Source, take_down_unheard};
use crate::moment;
use crate::outlive::{Outlive, ids_in};
use outlive_core::layout::{GONE, NEW};
use outlive_core::told::{Due, age_ms};
use outlive_core::{JobId, Label};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Removes the posts that are old enough; those that are told, unless forced. How many and how large
/// they are does not count: they are few and small.
pub fn prune_posts(outlive: &Outlive, asked: &Prune, pruned: &mut Pruned) -> Result<(), Error> {
    for id in ids_in(&outlive.home().posts())? {
        let source = match Source::read_post(outlive, &id) {
            Ok(Some(source)) => source,
            // Removed just now.
            Ok(None) => continue,
            Err(_) if asked.force => {
                remove(outlive, &id, None)?;
                continue;
            }
            Err(_) => {
                pruned.unreadable.push(id);
                continue;
            }
        };
        if !is_asked_for(&source, asked)? {
            continue;
        }
        if !asked.force && is_awaited(&source, asked)? {
            pruned.untold.push(id);
            continue;
        }
        if remove(outlive, &id, source.session())? {
            pruned.removed_posts.push(id);
        }
    }
    sweep(&outlive.home().posts());
    Ok(())
}

fn is_asked_for(source: &Source, asked: &Prune) -> Result<bool, Error> {
    let nothing_else = asked.keep.is_none() && asked.max_size.is_none() && !asked.all;
    let age = asked.older_than.or(nothing_else.then_some(DEFAULT_AGE));
    let now = moment::when()?;
    let is_too_old = |item: &Item| {
        let ms = age_ms(&source.happened(item.at), &now);
        age.is_some_and(|age| u128::from(ms) > age.as_millis())
    };
    Ok(asked.all || source.items().iter().all(is_too_old))
}

/// Whether its session is still to be told.
fn is_awaited(source: &Source, asked: &Prune) -> Result<bool, Error> {
    let told = source.read_told()?;
    let when = moment::when()?;
    Ok(source.items().iter().any(|item| {
        let due = told.due(item.seq, &source.happened(item.at), &when, &asked.rules);
        matches!(due, Due::Now | Due::Held { .. })
    }))
}

/// Says whether it was there. It is renamed first, so that nobody meets half of it.
fn remove(outlive: &Outlive, id: &JobId, session: Option<&Label>) -> Result<bool, Error> {
    let path = outlive.home().post(id).path().to_owned();
    let token = crate::random::token()?;
    let gone = path.with_file_name(format!("{GONE}{token}"));
    match fs::rename(&path, &gone) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.map_err(Error::io("cannot remove", &path))?,
    }
    if let Some(session) = session {
        let inbox = outlive.home().inbox(session);
        let _ = fs::remove_file(inbox.join(id.as_str()));
        let _ = fs::remove_dir(inbox);
    }
    match fs::remove_dir_all(&gone) {
        // Another pruner swept it up.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other.map_err(Error::io("cannot remove", &gone))?,
    }
    Ok(true)
}

/// Removes what posters and pruners left behind when they died.
fn sweep(posts: &Path) {
    for path in entries_named(posts, GONE) {
        let _ = fs::remove_dir_all(path);
    }
    for path in entries_named(posts, NEW).filter(|path| is_old(path)) {
        let _ = fs::remove_dir_all(path);
    }
}

/// The entries of a directory whose names begin like this.
fn entries_named(directory: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(move |entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
}

/// Removes links of inboxes that lead nowhere, and bells that nobody hears.
pub fn sweep_inboxes(outlive: &Outlive) -> Result<(), Error> {
    let Ok(inboxes) = fs::read_dir(outlive.home().inboxes()) else {
        return Ok(());
    };
    for inbox in inboxes.flatten() {
        for id in ids_in(&inbox.path())? {
            let link = inbox.path().join(id.as_str());
            if !link.exists() && is_old(&link) {
                let _ = fs::remove_file(link);
            }
        }
        for path in entries_named(&inbox.path(), NEW).filter(|path| is_old(path)) {
            let _ = fs::remove_file(path);
        }
        take_down_unheard(&inbox.path());
        let _ = fs::remove_dir(inbox.path());
    }
    Ok(())
}
