//! Making a job directory and starting the pair that keeps it.
//!
//! The directory is made complete under another name and then given its own, which fails if there is
//! one already: so an id is taken once, whatever races, and a directory that bears an id is whole.
//! The launcher holds the job's lock from the first moment and hands it to the keeper, so nobody
//! mistakes a job that is being started for one that was abandoned.

pub(crate) mod keeper_process;
pub(crate) mod scope;
pub(crate) mod shell;

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::hooks::{self, Hook};
use crate::inbox;
use crate::jobs::whereabouts;
use crate::launch::keeper_process::Begun;
use crate::moment::now;
use outlive_core::event::Event;
use outlive_core::host::Here;
use outlive_core::layout::{self, GONE, NEW};
use outlive_core::links;
use outlive_core::{JobDir, JobId, JournalWriter, Spec};
use outlive_sys::lock::{self, Lock, Locked};
use outlive_sys::process::own;
use outlive_sys::{capture, file};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// What a copy-on-write filesystem sets aside for a new journal. Its keeper sees to the rest.
const FIRST_ROOM: u64 = 8192;

/// Whether an id was free.
#[derive(Debug)]
pub enum Named {
    Yes(Lock),
    Taken,
}

/// Makes the directory of a new job, unless its id is taken.
pub fn make(outlive: &Outlive, spec: &Spec) -> Result<Named, Error> {
    outlive.prepare()?;
    let job = outlive.job_dir(&spec.id);
    let new = New::make(outlive, spec)?;
    hooks::reach(Hook::DirectoryMade);
    link(outlive, spec, &JobDir::at(new.path.clone()))?;
    hooks::reach(Hook::Linked);
    let Some(lock) = new.name(job.path())? else {
        hooks::reach(Hook::Refused);
        if let Some(session) = &spec.session {
            // They lead to the job that has the id. If that is another session's, this session must not
            // find it there. Where that cannot be done now, whoever looks passes it over.
            let kind = links::Kind::Job;
            let _ = links::unlink_refused(outlive.home(), session, &spec.id, kind);
        }
        return Ok(Named::Taken);
    };
    hooks::reach(Hook::Named);
    // Both are told through the same inbox, by their ids. Whoever is named second sees the other.
    if outlive.home().post(&spec.id).path().exists() {
        withdraw(outlive, spec, &job)?;
        return Err(Error::IdOfPost(spec.id.clone()));
    }
    // Until it had its name the links led nowhere, or to an earlier job of this id, and somebody may have
    // removed them.
    link(outlive, spec, &job)?;
    hooks::reach(Hook::Relinked);
    // Those of a session are found among its jobs.
    if let (Some(name), None) = (&spec.name, &spec.session) {
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

/// Becomes the keeper of this job, in the foreground. Returns only where that fails.
pub fn become_keeper(
    outlive: &Outlive,
    spec: &Spec,
    lock: Lock,
    variables: &[(OsString, OsString)],
) -> Error {
    let job = outlive.job_dir(&spec.id);
    keeper_process::become_keeper(outlive, &job, &spec.id, lock, variables)
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
        let here = whereabouts::here()?;
        new.lock = Some(
            new.fill(spec, here)
                .map_err(Error::io("cannot write the job directory", &new.path))?,
        );
        Ok(new)
    }

    fn fill(&self, spec: &Spec, here: &Here) -> io::Result<Lock> {
        let job = JobDir::at(self.path.clone());
        let Locked::Mine(lock) = lock::take(layout::make(&job.lock())?)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        layout::make(&job.spec())?.write_all(&serde_json::to_vec(spec)?)?;
        layout::make(&job.output())?;
        capture::make_fifo(&job.feed())?;
        let mut journal = JournalWriter::create(&job.journal())?;
        // Before its first byte, or it is too late. `doctor` tells where it cannot be done.
        file::begin_in_place(journal.file(), FIRST_ROOM);
        journal.append(
            now(),
            &[Event::Accepted {
                boot: here.boot.clone(),
                host: Some(here.host.clone()),
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
        // A launcher that panics leaves what one that was killed would leave.
        if !self.path.as_os_str().is_empty() && !std::thread::panicking() {
            // What is left behind here is found and removed by `prune`.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Takes back a job that was named and not started.
fn withdraw(outlive: &Outlive, spec: &Spec, job: &JobDir) -> Result<(), Error> {
    let random = crate::random::number()?;
    let gone = job
        .path()
        .with_file_name(format!("{GONE}{}-{random:04x}", spec.id));
    let home = outlive.home();
    // The link in the inbox, if both are of one session, is the post's as well. A link that stays leads
    // nowhere, and is swept up.
    links::remove(&home.live_link(&spec.id))
        .and_then(|()| fs::rename(job.path(), &gone))
        .and_then(|()| fs::remove_dir_all(&gone))
        .map_err(Error::io("cannot remove", job.path()))
}

fn link(outlive: &Outlive, spec: &Spec, job: &JobDir) -> Result<(), Error> {
    links::link_job(outlive.home(), spec, job)
        .map_err(Error::io("cannot make the links of", job.path()))
}

/// Points a link elsewhere in one step.
fn replace_link(target: &Path, link: &Path, id: &JobId) -> Result<(), Error> {
    // One that a launcher left which was killed here is in nobody's way.
    let random = crate::random::number().map(|random| format!("{NEW}{id}-{random:04x}"))?;
    let new = link.with_file_name(random);
    symlink(target, &new)
        .and_then(|()| fs::rename(&new, link))
        .map_err(Error::io("cannot make the link", link))
}
