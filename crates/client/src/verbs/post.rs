//! Put a piece of work that was done elsewhere into a session's inbox.

use crate::error::Error;
use crate::hooks::{self, PosterHook};
use crate::inbox::{self, EventId};
use crate::launch;
use crate::moment;
use crate::outlive::{Outlive, make_private};
use crate::random;
use outlive_core::layout::{self, NEW, PRIVATE, PostDir};
use outlive_core::notice::Kind;
use outlive_core::post::{self, Post};
use outlive_core::{JobId, Label};
use outlive_sys::{clock, file};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

/// What is posted.
#[derive(Clone, Debug)]
pub struct Asked {
    pub session: Label,
    pub task: Option<Label>,
    pub kind: Kind,
    /// All of it, so that it stands alone.
    pub data: Value,
    /// Chosen by the caller, a repeated post is taken for the first.
    pub id: Option<JobId>,
}

/// Whether it was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    Now,
    Already,
}

/// Posts it; once this returns it is on the disk, and will be told.
pub fn post(outlive: &Outlive, asked: Asked) -> Result<(EventId, Posted), Error> {
    outlive.prepare()?;
    make_private(&outlive.home().posts())?;
    let id = match asked.id {
        Some(id) => id,
        None => JobId::make(clock::wall_ms(), random::number()?),
    };
    let event = EventId {
        source: id.clone(),
        seq: Post::SEQ,
    };
    if outlive.job_dir(&id).path().exists() {
        return Err(Error::PostIdTaken(id));
    }
    let when = moment::when()?;
    let post = Post {
        format: post::FORMAT,
        id: id.clone(),
        session: asked.session,
        task: asked.task,
        kind: asked.kind,
        boot: when.boot,
        at: when.at,
        data: asked.data,
    };
    let posted = write(outlive, &post)?;
    inbox::ring(outlive, &post.session);
    Ok((event, posted))
}

/// Complete from the moment the directory has its name, and linked before that.
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
        .and_then(|()| launch::link_inbox(outlive, &post.session, &post.id, "posts"))
        .inspect(|()| hooks::reach_poster(PosterHook::Linked))
        .and_then(|()| match file::rename_new(&new, &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Posted::Already),
            other => other.map(|()| Posted::Now).map_err(failed()),
        });
    if !matches!(written, Ok(Posted::Now)) {
        let _ = fs::remove_dir_all(&new);
    }
    hooks::reach_poster(PosterHook::Named);
    let home = outlive.home();
    for directory in [home.posts(), home.inboxes(), home.inbox(&post.session)] {
        layout::sync_directory(&directory).map_err(Error::io("cannot sync", &directory))?;
    }
    written
}

fn fill(dir: &PostDir, post: &Post) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(dir.post())?;
    file.write_all(&serde_json::to_vec(post)?)?;
    file.sync_all()
}
