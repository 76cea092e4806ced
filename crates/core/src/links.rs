//! The links by which a job is found without reading every job there ever was.
//!
//! `live/<id>` says that a job is not over, `sessions/<key>/<id>` that it is a session's, and
//! `inbox/<key>/<id>` that the session may have something to hear of it. A launcher makes them before
//! the job has its name, so that no job with a name is missing there, and once more after it has, since
//! until then they led nowhere and anybody could have tidied them up. A link that leads nowhere or to
//! another session's job is passed over by whoever reads it.

use crate::id::JobId;
use crate::incarnation::Incarnation;
use crate::label::Label;
use crate::layout::{Home, JobDir, make_directory};
use crate::named;
use crate::spec::Spec;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What an inbox link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Job,
    Post,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Kind::Job => "jobs",
            Kind::Post => "posts",
        }
    }

    /// Where what has this id is.
    pub fn directory(self, home: &Home, id: &JobId) -> PathBuf {
        home.root().join(self.folder()).join(id.as_str())
    }
}

/// Makes the links of a job that are missing. `job` is where its files are now: it may not have its
/// name yet.
pub fn link_job(home: &Home, spec: &Spec, job: &JobDir) -> io::Result<()> {
    link_live(home, &spec.id, job)?;
    link_to_session(home, spec)
}

/// Makes the links of its session that are missing: those by which the session finds it and hears of it.
pub fn link_to_session(home: &Home, spec: &Spec) -> io::Result<()> {
    let Some(session) = &spec.session else {
        return Ok(());
    };
    let target = Path::new("../../jobs").join(spec.id.as_str());
    link_into(&home.session(session), &target, &spec.id)?;
    link_inbox(home, session, &spec.id, Kind::Job)
}

/// Links a job among those that are not over. Only the name counts, so it is one more name of a file
/// that is there: on some filesystems making one more file is the slowest call of a launch.
pub fn link_live(home: &Home, id: &JobId, job: &JobDir) -> io::Result<()> {
    let link = home.live_link(id);
    match fs::hard_link(job.lock(), &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            make_link(&Path::new("../jobs").join(id.as_str()), &link).map(drop)
        }
        _ => Ok(()),
    }
}

/// Lets the session's inbox find what the job or post of this id has to tell.
pub fn link_inbox(home: &Home, session: &Label, id: &JobId, kind: Kind) -> io::Result<()> {
    let target = Path::new("../..").join(kind.folder()).join(id.as_str());
    link_into(&home.inbox(session), &target, id)
}

/// Makes a link in a directory that others remove when it is empty, perhaps just now.
fn link_into(directory: &Path, target: &Path, id: &JobId) -> io::Result<()> {
    while !make_link(target, &directory.join(id.as_str()))? {
        make_directory(directory)?;
    }
    Ok(())
}

/// Makes a link unless there is one; says whether its directory was there.
fn make_link(target: &Path, link: &Path) -> io::Result<bool> {
    match symlink(target, link) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        // Which link it was is what a person needs to know.
        other => other
            .map(|()| true)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", link.display()))),
    }
}

/// Whose job or post it is that has an id now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub session: Option<Label>,
    pub incarnation: Option<Incarnation>,
}

/// Removes this session's inbox link to an id if what has the id is as `when` wants it, which stays so
/// until the link is gone. A link that cannot be removed now is in nobody's way.
pub fn unlink_inbox(
    home: &Home,
    session: &Label,
    id: &JobId,
    kind: Kind,
    when: impl FnOnce(&Owner) -> bool,
) -> io::Result<()> {
    unlink_while_named(home, id, kind, when, &[home.inbox(session)])
}

/// The same for a launcher that was refused the id: neither link of its session is to lead to a job of
/// another one.
pub fn unlink_refused(home: &Home, session: &Label, id: &JobId, kind: Kind) -> io::Result<()> {
    let is_other = |owner: &Owner| owner.session.as_ref() != Some(session);
    let places = [home.inbox(session), home.session(session)];
    unlink_while_named(home, id, kind, is_other, &places)
}

fn unlink_while_named(
    home: &Home,
    id: &JobId,
    kind: Kind,
    when: impl FnOnce(&Owner) -> bool,
    places: &[PathBuf],
) -> io::Result<()> {
    let Some(_named) = named::share(&kind.directory(home, id))? else {
        return Ok(());
    };
    if owner(home, id, kind).is_some_and(|owner| when(&owner)) {
        for place in places {
            remove(&place.join(id.as_str()))?;
            // Where it was the last one there.
            let _ = fs::remove_dir(place);
        }
    }
    Ok(())
}

/// Removes all links of a job whose name the caller has alone. One that cannot be removed, because a job
/// put something else in its place, say, is in nobody's way.
pub fn unlink_job(home: &Home, spec: &Spec, _alone: &named::Named) {
    let id = &spec.id;
    let _ = remove(&home.live_link(id));
    if let Some(session) = &spec.session {
        for place in [home.session(session), home.inbox(session)] {
            let _ = remove(&place.join(id.as_str()));
            let _ = fs::remove_dir(place);
        }
    }
    let name = spec.name.as_ref().map(|name| home.name(name));
    if let Some(name) = name.filter(|name| leads_to(name, id)) {
        let _ = remove(&name);
    }
}

fn leads_to(link: &Path, id: &JobId) -> bool {
    fs::read_link(link)
        .is_ok_and(|target| target.file_name().is_some_and(|name| name == id.as_str()))
}

/// `None` where nothing has the id, or it cannot be read.
pub fn owner(home: &Home, id: &JobId, kind: Kind) -> Option<Owner> {
    match kind {
        Kind::Job => home.job(id).read_spec().ok().map(|spec| Owner {
            session: spec.session,
            incarnation: spec.incarnation,
        }),
        Kind::Post => home.post(id).read().ok().map(|post| Owner {
            session: Some(post.session),
            incarnation: post.incarnation,
        }),
    }
}

/// "Already gone" is no error.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
