//! Puts a piece of outside work into a session's inbox.

use crate::clock;
use crate::error::Error;
use crate::home::bell;
use crate::home::outlive::{Outlive, make_private};
use crate::hooks::{self, PosterHook};
use crate::inbox::pruned_posts::{self, Pruned};
use crate::inbox::{self, EventId};
use crate::moment;
use crate::random;
pub use outlive_api::request::NewPost;
use outlive_core::layout::{self, GONE, NEW, PRIVATE, PostDir};
use outlive_core::post::{self, Post};
use outlive_core::{JobId, links};
use outlive_sys::file;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

/// Whether the post existed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It was not there before.
    Now,
    /// It was there already.
    Already,
}

/// Posts the work. After this returns, the post is on disk and will be told.
pub fn post(outlive: &Outlive, asked: NewPost) -> Result<(EventId, Posted), Error> {
    outlive.prepare()?;
    make_private(&outlive.home().posts())?;
    let id = match asked.id {
        Some(id) => id,
        None => JobId::make(clock::wall().ms(), random::number()?),
    };
    if outlive.job_dir(&id).path().exists() {
        return Err(Error::PostIdTaken(id));
    }
    let when = moment::when()?;
    let post = Post {
        format: post::FORMAT,
        id,
        incarnation: Some(random::incarnation()?),
        session: asked.session,
        task: asked.task,
        kind: asked.kind,
        boot: when.boot,
        at: when.at,
        data: asked.data,
    };
    if let Some(pruned) = pruned_posts::find(outlive, &post.id)? {
        return already(post, pruned);
    }
    if write(outlive, &post)? == Posted::Now {
        // Meanwhile a job with this id may have been created, or a post with this id told and pruned.
        // Of two that race, the later one sees the other. Nobody finds the post before it is linked.
        if outlive.job_dir(&post.id).path().exists() {
            withdraw(outlive, &post)?;
            return Err(Error::PostIdTaken(post.id));
        }
        if let Some(pruned) = pruned_posts::find(outlive, &post.id)? {
            withdraw(outlive, &post)?;
            return already(post, pruned);
        }
        link(outlive, &post)?;
        return Ok((post.event(), Posted::Now));
    }
    // A repeated post is reported as existing. If it was for another session, that is an error, since
    // this session would never be told.
    let there = outlive.home().post(&post.id).read().map_err(Error::from)?;
    if there.session != post.session {
        return Err(Error::PostOfOther(post.id));
    }
    // The first poster may have been killed before it made the link.
    link(outlive, &there)?;
    Ok((there.event(), Posted::Already))
}

/// A post that was told and pruned is not posted again.
fn already(post: Post, pruned: Pruned) -> Result<(EventId, Posted), Error> {
    let incarnation = pruned.incarnation;
    match pruned.session == post.session {
        true => Ok((
            Post {
                incarnation,
                ..post
            }
            .event(),
            Posted::Already,
        )),
        false => Err(Error::PostOfOther(post.id)),
    }
}

/// Removes a post that was not reported as posted. Its link is then dangling, or points to the job that
/// has the id; readers skip both.
fn withdraw(outlive: &Outlive, post: &Post) -> Result<(), Error> {
    let path = outlive.home().post(&post.id).path().to_owned();
    let gone = path.with_file_name(format!("{GONE}{}", random::token()?));
    fs::rename(&path, &gone)
        .and_then(|()| fs::remove_dir_all(&gone))
        .map_err(Error::io("cannot remove", &path))
}

/// The post is complete before its directory gets its name.
fn write(outlive: &Outlive, post: &Post) -> Result<Posted, Error> {
    let path = outlive.home().post(&post.id).path().to_owned();
    let new = path.with_file_name(format!("{NEW}{}", random::token()?));
    let failed = || Error::io("cannot write", &new);
    if path.exists() {
        return Ok(Posted::Already);
    }
    make_private(&new)?;
    let written = fill(&PostDir::at(new.clone()), post)
        .map_err(failed())
        .inspect(|()| hooks::reach_poster(PosterHook::Written))
        .and_then(|()| match file::rename_new(&new, &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Posted::Already),
            other => other.map(|()| Posted::Now).map_err(failed()),
        });
    if !matches!(written, Ok(Posted::Now)) {
        let _ = fs::remove_dir_all(&new);
    }
    hooks::reach_poster(PosterHook::Named);
    written
}

/// Makes the post visible for the session, and wakes its waiting consumers.
fn link(outlive: &Outlive, post: &Post) -> Result<(), Error> {
    let home = outlive.home();
    let inbox = home.inbox(&post.session);
    links::link_inbox(home, &post.session, &post.id, links::Kind::Post)
        .map_err(Error::io("cannot link into", &inbox))?;
    hooks::reach_poster(PosterHook::Linked);
    for directory in [home.posts(), home.inboxes(), inbox] {
        layout::sync_directory(&directory).map_err(Error::io("cannot sync", &directory))?;
    }
    inbox::wake(outlive, &post.session);
    bell::tell(outlive, &post.id);
    Ok(())
}

fn fill(dir: &PostDir, post: &Post) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(dir.post())?;
    file.write_all(&serde_json::to_vec(post)?)?;
    layout::sync_all(&file)
}
