//! Making a job directory and starting the pair that keeps it.
//!
//! The directory is made complete under another name and then given its own, which fails if there is
//! one already: so an id is taken once, whatever races, and a directory that bears an id is whole.
//! The launcher holds the job's lock from the first moment and hands it to the keeper, so nobody
//! mistakes a job that is being started for one that was abandoned.

use crate::error::Error;
use crate::hooks::{self, Hook};
use crate::inbox;
use crate::keeper_process::{self, Begun};
use crate::moment::now;
use crate::outlive::{Outlive, make_private};
use outlive_core::event::Event;
use outlive_core::layout::{self, NEW};
use outlive_core::{BootId, JobDir, JobId, JournalWriter, Label, Spec};
use outlive_sys::lock::{self, Lock, Locked};
use outlive_sys::{file, own, pipe, procfs};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// Whether an id was free.
#[derive(Debug)]
pub enum Named {
    Yes(Lock),
    Taken,
}

/// Makes the directory of a new job, unless its id is taken.
pub fn make(outlive: &Outlive, spec: &Spec) -> Result<Named, Error> {
    outlive.prepare()?;
    let new = New::make(outlive, spec)?;
    hooks::reach(Hook::DirectoryMade);
    link(outlive, spec, &JobDir::at(new.path.clone()))?;
    hooks::reach(Hook::Linked);
    let Some(lock) = new.name(outlive.job_dir(&spec.id).path())? else {
        return Ok(Named::Taken);
    };
    hooks::reach(Hook::Named);
    if let Some(name) = &spec.name {
        let target = Path::new("../jobs").join(spec.id.as_str());
        replace_link(&target, &outlive.home().name(name), &spec.id)?;
    }
    if let Some(session) = &spec.session {
        inbox::ring(outlive, session);
    }
    Ok(Named::Yes(lock))
}

/// Starts the pair. Whatever becomes of it, the journal tells.
pub fn start(
    outlive: &Outlive,
    spec: &Spec,
    lock: Lock,
    variables: &[(OsString, OsString)],
) -> Result<Begun, Error> {
    keeper_process::start(
        outlive,
        &outlive.job_dir(&spec.id),
        &spec.id,
        lock,
        variables,
    )
}

/// A job directory that has not got its name yet; removed again unless it gets it.
struct New {
    path: PathBuf,
    lock: Option<Lock>,
}

impl New {
    fn make(outlive: &Outlive, spec: &Spec) -> Result<New, Error> {
        let random = crate::random::number()?;
        let path =
            outlive
                .home()
                .jobs()
                .join(format!("{NEW}{}-{}-{random:04x}", spec.id, own::pid()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(Error::io("cannot make the job directory", &path))?;
        let mut new = New { path, lock: None };
        new.lock = Some(
            new.fill(spec)
                .map_err(Error::io("cannot write the job directory", &new.path))?,
        );
        Ok(new)
    }

    fn fill(&self, spec: &Spec) -> io::Result<Lock> {
        let job = JobDir::at(self.path.clone());
        let Locked::Mine(lock) = lock::take(layout::make(&job.lock())?)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        layout::make(&job.spec())?.write_all(&serde_json::to_vec(spec)?)?;
        layout::make(&job.output())?;
        pipe::make_fifo(&job.feed())?;
        let mut journal = JournalWriter::create(&job.journal())?;
        journal.append(
            now(),
            &[Event::Accepted {
                boot: BootId(procfs::boot_id()?),
            }],
        )?;
        Ok(lock)
    }

    /// Gives the directory its name; `None` if that is taken.
    fn name(mut self, path: &Path) -> Result<Option<Lock>, Error> {
        match file::rename_new(&self.path, path) {
            Ok(()) => {
                self.path = PathBuf::new();
                Ok(self.lock.take())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(Error::io("cannot name the job directory", path)(error)),
        }
    }
}

impl Drop for New {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // What is left behind here is found and removed by `prune`.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Links the job where it will be looked for: before it has its name, so that no job that has one is
/// missing there. A link that leads nowhere, or to another job that has the id, is passed over.
fn link(outlive: &Outlive, spec: &Spec, new: &JobDir) -> Result<(), Error> {
    let home = outlive.home();
    link_live(outlive, &spec.id, new)?;
    if let Some(session) = &spec.session {
        let target = Path::new("../../jobs").join(spec.id.as_str());
        link_into(&home.session(session), &target, &spec.id)?;
        link_inbox(outlive, session, &spec.id, "jobs")?;
    }
    Ok(())
}

/// Links a job among those that are not over. Only the name counts, so it is one more name of a file
/// that is there: to make one more file and remove it again is the dearest call of a launch on some
/// filesystems.
pub fn link_live(outlive: &Outlive, id: &JobId, job: &JobDir) -> Result<(), Error> {
    let link = outlive.home().live_link(id);
    match fs::hard_link(job.lock(), &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            make_link(&Path::new("../jobs").join(id.as_str()), &link).map(drop)
        }
        // Made, or left by a job of this id, or made by another launcher that wants it.
        _ => Ok(()),
    }
}

/// Lets the session's inbox find what `<place>/<id>` will have to tell.
pub fn link_inbox(
    outlive: &Outlive,
    session: &Label,
    id: &JobId,
    place: &str,
) -> Result<(), Error> {
    let target = Path::new("../..").join(place).join(id.as_str());
    link_into(&outlive.home().inbox(session), &target, id)
}

/// Makes a link in a directory that others remove when it is empty, perhaps just now.
fn link_into(directory: &Path, target: &Path, id: &JobId) -> Result<(), Error> {
    make_private(directory)?;
    while !make_link(target, &directory.join(id.as_str()))? {
        make_private(directory)?;
    }
    Ok(())
}

/// Makes a link; says whether its directory was there.
fn make_link(target: &Path, link: &Path) -> Result<bool, Error> {
    match symlink(target, link) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // Left by a job of this id, or made by another launcher that wants it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        other => other
            .map(|()| true)
            .map_err(Error::io("cannot make the link", link)),
    }
}

/// Points a link elsewhere in one step.
fn replace_link(target: &Path, link: &Path, id: &JobId) -> Result<(), Error> {
    let new = link.with_file_name(format!("{NEW}{id}"));
    symlink(target, &new)
        .and_then(|()| fs::rename(&new, link))
        .map_err(Error::io("cannot make the link", link))
}
