//! Removes posts that were told, and what killed posters and consumers left behind.

use super::prune::{Pass, Prune, Pruned, is_old, sweep_links};
use crate::error::Error;
use crate::home::bell;
use crate::home::outlive::{Outlive, ids_in};
use crate::inbox::pruned_posts;
use crate::inbox::told;
use crate::inbox::{Item, Origin, Source};
use crate::moment;
use outlive_core::defaults::PRUNE_AGE;
use outlive_core::layout::{GONE, NEW};
use outlive_core::told as told_record;
use outlive_core::{JobId, links, named};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Removes posts that are old enough and were told; if forced, also others. Their number and size do
/// not matter: they are few and small.
pub fn prune_posts(outlive: &Outlive, pass: &Pass<'_>, pruned: &mut Pruned) -> Result<(), Error> {
    for id in ids_in(&outlive.home().posts())? {
        // If one cannot be removed, the others still are.
        if let Err(error) = prune_post(outlive, &id, pass, pruned) {
            pruned.failed.push((id, error.to_string()));
        }
    }
    sweep(&outlive.home().posts());
    pruned_posts::forget_old(outlive)
}

fn prune_post(
    outlive: &Outlive,
    id: &JobId,
    pass: &Pass<'_>,
    pruned: &mut Pruned,
) -> Result<(), Error> {
    match Source::read_post(outlive, id) {
        Ok(Some(source)) if is_asked_for(&source, pass.asked)? => {
            remove(outlive, &source, pass, pruned)
        }
        // It does not match, or was just removed.
        Ok(_) => Ok(()),
        Err(_) if pass.asked.force => {
            let path = outlive.home().post(id).path().to_owned();
            let alone = named::take(&path).map_err(Error::io("cannot remove", &path))?;
            match alone {
                Some(_) => {
                    rename_and_remove(&path, pruned)?;
                    pruned.removed_posts.push(id.clone());
                }
                None => pruned.busy.push(id.clone()),
            }
            Ok(())
        }
        Err(error) => {
            pruned.unreadable.push((id.clone(), error.to_string()));
            Ok(())
        }
    }
}

fn is_asked_for(source: &Source, asked: &Prune) -> Result<bool, Error> {
    let nothing_else = asked.keep.is_none() && asked.max_size.is_none() && !asked.all;
    let limit = asked.older_than.or(nothing_else.then_some(PRUNE_AGE));
    let now = moment::when()?;
    let is_too_old = |item: &Item| {
        let age = told_record::age(&source.happened(item.at), &now);
        limit.is_some_and(|limit| age > limit)
    };
    Ok(asked.all || source.items().iter().all(is_too_old))
}

/// Removes a post, unless its session must still be told or another process uses it. Its id is
/// remembered, so that a repeated post is recognised.
fn remove(
    outlive: &Outlive,
    source: &Source,
    pass: &Pass<'_>,
    pruned: &mut Pruned,
) -> Result<(), Error> {
    let path = outlive.home().post(&source.id).path().to_owned();
    let failed = || Error::io("cannot remove", &path);
    let Some(_alone) = named::take(&path).map_err(failed())? else {
        pruned.busy.push(source.id.clone());
        return Ok(());
    };
    let now = Source::read_post(outlive, &source.id)?;
    if now.is_none_or(|now| now.incarnation() != source.incarnation()) {
        return Ok(());
    }
    if !pass.asked.force && !told::awaited(source, &pass.rules)?.is_empty() {
        pruned.untold.push(source.id.clone());
        return Ok(());
    }
    let dropped = told::unclaimed(source);
    if let Origin::Post(post) = &source.origin {
        // A post that was not told may be posted again.
        if dropped.is_empty() {
            pruned_posts::remember(outlive, post)?;
        }
        let inbox = outlive.home().inbox(&post.session);
        links::remove(&inbox.join(source.id.as_str())).map_err(failed())?;
        let _ = fs::remove_dir(inbox);
    }
    rename_and_remove(&path, pruned)?;
    pruned.dropped.extend(dropped);
    pruned.removed_posts.push(source.id.clone());
    Ok(())
}

/// Renames the directory first, so that nobody sees half of it.
fn rename_and_remove(path: &Path, pruned: &mut Pruned) -> Result<(), Error> {
    let token = crate::random::token()?;
    let gone = path.with_file_name(format!("{GONE}{token}"));
    fs::rename(path, &gone).map_err(Error::io("cannot remove", path))?;
    match fs::remove_dir_all(&gone) {
        // Another pruner removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => pruned.left_behind.push((gone, error.to_string())),
        Ok(()) => {}
    }
    Ok(())
}

/// Removes what killed posters and pruners left behind.
fn sweep(posts: &Path) {
    for path in entries_named(posts, GONE) {
        let _ = fs::remove_dir_all(path);
    }
    for path in entries_named(posts, NEW).filter(|path| is_old(path)) {
        let _ = fs::remove_dir_all(path);
    }
}

/// Restores the inbox link of the job or post with this id, if there is one.
fn relink(outlive: &Outlive, id: &JobId) -> io::Result<()> {
    let home = outlive.home();
    if let Ok(spec) = outlive.read_spec(id) {
        return links::link_to_session(home, &spec);
    }
    let post = home.post(id).read();
    post.map_or(Ok(()), |post| {
        links::link_inbox(home, &post.session, id, links::Kind::Post)
    })
}

/// The entries of a directory whose names begin with `prefix`.
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
    let home = outlive.home();
    let target = |id: &JobId| match outlive.job_dir(id).path() {
        job if job.exists() => job.to_owned(),
        _ => home.post(id).path().to_owned(),
    };
    for inbox in inboxes.flatten() {
        sweep_links(&inbox.path(), target, |id| relink(outlive, id));
        for path in entries_named(&inbox.path(), NEW).filter(|path| is_old(path)) {
            let _ = fs::remove_file(path);
        }
        bell::remove_unheard(&inbox.path());
        let _ = fs::remove_dir(inbox.path());
    }
    Ok(())
}
