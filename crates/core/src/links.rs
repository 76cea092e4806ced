//! The links that find a job without reading all jobs.
//!
//! `live/<id>` says that a job is not over, `sessions/<key>/<id>` that it belongs to a session, and
//! `inbox/<key>/<id>` that the session may have events to read. A launcher makes the links before the
//! job directory gets its name, so that no named job lacks them. It makes them again afterwards: before
//! the job had its name the links were dangling, so another process may have removed them. Readers skip
//! dangling links and links to another session's job.

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

/// What an inbox link points to.
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

    /// The directory of the job or post with this id.
    pub fn directory(self, home: &Home, id: &JobId) -> PathBuf {
        home.root().join(self.folder()).join(id.as_str())
    }
}

/// Makes the missing links of a job. `job` is the current path of its files: the directory may not have
/// its final name yet.
pub fn link_job(home: &Home, spec: &Spec, job: &JobDir) -> io::Result<()> {
    link_live(home, &spec.id, job)?;
    link_to_session(home, spec)
}

/// Makes the missing links of its session: the one that finds the job and the one to the inbox.
pub fn link_to_session(home: &Home, spec: &Spec) -> io::Result<()> {
    let Some(session) = &spec.session else {
        return Ok(());
    };
    let target = Path::new("../../jobs").join(spec.id.as_str());
    link_into(&home.session(session), &target, &spec.id)?;
    link_inbox(home, session, &spec.id, Kind::Job)
}

/// Links a job as not over. Only the name of the link matters, so this makes a hard link to an existing
/// file: on some filesystems, creating a file is the slowest call of a launch.
pub fn link_live(home: &Home, id: &JobId, job: &JobDir) -> io::Result<()> {
    let link = home.live_link(id);
    match fs::hard_link(job.lock(), &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            make_link(&Path::new("../jobs").join(id.as_str()), &link).map(drop)
        }
        _ => Ok(()),
    }
}

/// Adds the job or post to the session's inbox.
pub fn link_inbox(home: &Home, session: &Label, id: &JobId, kind: Kind) -> io::Result<()> {
    let target = Path::new("../..").join(kind.folder()).join(id.as_str());
    link_into(&home.inbox(session), &target, id)
}

/// Makes a link in a directory that other processes remove when it is empty, perhaps at this moment.
fn link_into(directory: &Path, target: &Path, id: &JobId) -> io::Result<()> {
    while !make_link(target, &directory.join(id.as_str()))? {
        make_directory(directory)?;
    }
    Ok(())
}

/// Makes a link unless it exists. Returns `false` if its directory does not exist.
fn make_link(target: &Path, link: &Path) -> io::Result<bool> {
    match symlink(target, link) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        // The error names the link, which a person needs to know.
        other => other
            .map(|()| true)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", link.display()))),
    }
}

/// The session and incarnation of the job or post that has an id now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub session: Option<Label>,
    pub incarnation: Option<Incarnation>,
}

/// Removes this session's inbox link to an id if `when` accepts the current owner of the id. The id
/// cannot change its owner until the link is gone.
pub fn unlink_inbox(
    home: &Home,
    session: &Label,
    id: &JobId,
    kind: Kind,
    when: impl FnOnce(&Owner) -> bool,
) -> io::Result<()> {
    unlink_while_named(home, id, kind, when, &[home.inbox(session)])
}

/// Removes the links of a launcher that was refused the id: neither link of its session may point to a
/// job of another session.
pub fn unlink_refused(home: &Home, session: &Label, id: &JobId, kind: Kind) -> io::Result<()> {
    let is_other = |owner: &Owner| owner.session.as_ref() != Some(session);
    let directories = [home.inbox(session), home.session(session)];
    unlink_while_named(home, id, kind, is_other, &directories)
}

fn unlink_while_named(
    home: &Home,
    id: &JobId,
    kind: Kind,
    when: impl FnOnce(&Owner) -> bool,
    directories: &[PathBuf],
) -> io::Result<()> {
    let Some(_named) = named::share(&kind.directory(home, id))? else {
        return Ok(());
    };
    if owner(home, id, kind).is_some_and(|owner| when(&owner)) {
        for directory in directories {
            remove(&directory.join(id.as_str()))?;
            // Remove the directory if this was its last link.
            let _ = fs::remove_dir(directory);
        }
    }
    Ok(())
}

/// Removes all links of a job whose name the caller has locked. A link that cannot be removed, for
/// example because a job put a directory in its place, does no harm.
pub fn unlink_job(home: &Home, spec: &Spec, _alone: &named::Named) {
    let id = &spec.id;
    let _ = remove(&home.live_link(id));
    if let Some(session) = &spec.session {
        for directory in [home.session(session), home.inbox(session)] {
            let _ = remove(&directory.join(id.as_str()));
            let _ = fs::remove_dir(directory);
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

/// Returns `None` if nothing has the id, or it cannot be read.
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

/// Removes a file. A missing file is not an error.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
