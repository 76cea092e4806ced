//! Makes a job directory and starts the two keepers of the job.
//!
//! The directory is completed under a temporary name and then renamed. The rename fails if the id is
//! taken: so an id is used only once, whatever races, and a directory with an id is always complete.
//! The launcher holds the job's lock from the start and passes it to the keeper, so no other process
//! mistakes a job that is starting for an abandoned one.

pub(crate) mod keeper_process;
pub(crate) mod scope;
pub(crate) mod shell;

use crate::environment::inherited::JobVariables;
use crate::error::Error;
use crate::home::bell;
use crate::home::outlive::Outlive;
use crate::hooks::{self, Hook};
use crate::inbox;
use crate::jobs::whereabouts;
use crate::launch::keeper_process::StartResult;
use crate::moment::now;
use crate::places::records::Placing;
use outlive_core::ending;
use outlive_core::event::Event;
use outlive_core::far::Instance;
use outlive_core::host::Here;
use outlive_core::layout::{self, GONE, NEW};
use outlive_core::links;
use outlive_core::{JobDir, JobId, JournalWriter, Spec};
use outlive_sys::lock::{self, Lock, LockResult};
use outlive_sys::process::own;
use outlive_sys::{capture, file};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::iter;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// The space that a copy-on-write filesystem reserves for a new journal. The keeper reserves the rest.
const FIRST_ROOM: u64 = 8192;

/// Whether an id was free.
#[derive(Debug)]
pub enum NameClaim<C> {
    Claimed(C),
    Taken,
}

/// Makes the directory of a new job, unless its id is taken.
pub fn make(outlive: &Outlive, spec: &Spec) -> Result<NameClaim<Lock>, Error> {
    let here = whereabouts::here()?;
    make_filled(outlive, spec, |job| fill(job, spec, here))
}

/// Makes the directory of a new job of the place that answered as this instance, unless its id is taken. It is on the
/// disk before anything is sent.
pub fn place(
    outlive: &Outlive,
    spec: &Spec,
    instance: &Instance,
) -> Result<NameClaim<Placing>, Error> {
    let claim = make_filled(outlive, spec, |job| fill_placed(job, spec, instance))?;
    let job = outlive.job_dir(&spec.id);
    if let NameClaim::Claimed(_) = &claim
        && !ending::make_findable(&job, Some(spec)).lasts
    {
        withdraw(outlive, spec, &job)?;
        let refused = io::Error::other("the disk did not confirm it");
        return Err(Error::io("cannot sync", job.path())(refused));
    }
    Ok(claim)
}

fn make_filled<C>(
    outlive: &Outlive,
    spec: &Spec,
    fill: impl FnOnce(&JobDir) -> io::Result<C>,
) -> Result<NameClaim<C>, Error> {
    outlive.prepare()?;
    let job = outlive.job_dir(&spec.id);
    let new = New::make(outlive, spec, fill)?;
    hooks::reach(Hook::DirectoryMade);
    link(outlive, spec, &JobDir::at(new.path.clone()))?;
    hooks::reach(Hook::Linked);
    let Some(claim) = new.name(job.path())? else {
        hooks::reach(Hook::Refused);
        if let Some(session) = &spec.session {
            // The links point to the job that has the id. If that job belongs to another session, this
            // session must not find it. If the links cannot be removed now, readers skip them.
            let kind = links::Kind::Job;
            let _ = links::unlink_refused(outlive.home(), session, &spec.id, kind);
        }
        return Ok(NameClaim::Taken);
    };
    hooks::reach(Hook::Named);
    // Jobs and posts share an inbox that uses their ids. If both try the same id at once, the later
    // rename sees the other one.
    if outlive.home().post(&spec.id).path().exists() {
        withdraw(outlive, spec, &job)?;
        return Err(Error::IdOfPost(spec.id.clone()));
    }
    // Before the job had its name, the links were dangling or pointed to an earlier job with this id,
    // so another process may have removed them.
    link(outlive, spec, &job)?;
    hooks::reach(Hook::Relinked);
    // A session finds its named jobs among its own links.
    if let (Some(name), None) = (&spec.name, &spec.session) {
        let target = Path::new("../jobs").join(spec.id.as_str());
        replace_link(&target, &outlive.home().name(name), &spec.id)?;
    }
    if let Some(session) = &spec.session {
        inbox::wake(outlive, session);
    }
    bell::tell(outlive, &spec.id);
    Ok(NameClaim::Claimed(claim))
}

/// Starts the keepers. The journal tells what happened afterwards.
pub fn start(
    outlive: &Outlive,
    spec: &Spec,
    lock: Lock,
    variables: &JobVariables,
) -> Result<StartResult, Error> {
    keeper_process::start(
        outlive,
        &outlive.job_dir(&spec.id),
        &spec.id,
        lock,
        variables,
    )
}

/// Replaces this process by the job's keeper, in the foreground. Returns only if that fails.
pub fn become_keeper(
    outlive: &Outlive,
    spec: &Spec,
    lock: Lock,
    variables: &JobVariables,
) -> Error {
    let job = outlive.job_dir(&spec.id);
    keeper_process::become_keeper(outlive, &job, &spec.id, lock, variables)
}

/// A job directory that has no name yet. It is removed unless it gets one.
struct New<C> {
    path: PathBuf,
    claim: Option<C>,
}

impl<C> New<C> {
    fn make(
        outlive: &Outlive,
        spec: &Spec,
        fill: impl FnOnce(&JobDir) -> io::Result<C>,
    ) -> Result<New<C>, Error> {
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
        let mut new = New { path, claim: None };
        let filled = fill(&JobDir::at(new.path.clone()));
        let failed = Error::io("cannot write the job directory", &new.path);
        new.claim = Some(filled.map_err(failed)?);
        Ok(new)
    }

    /// Gives the directory its name. Returns `None` if the name is taken.
    fn name(mut self, path: &Path) -> Result<Option<C>, Error> {
        match file::rename_new(&self.path, path) {
            Ok(()) => {
                self.path = PathBuf::new();
                Ok(self.claim.take())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(Error::io("cannot name the job directory", path)(error)),
        }
    }
}

impl<C> Drop for New<C> {
    fn drop(&mut self) {
        // A launcher that panics leaves the directory, like one that was killed.
        if !self.path.as_os_str().is_empty() && !std::thread::panicking() {
            // `prune` finds and removes what is left behind here.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn fill(job: &JobDir, spec: &Spec, here: &Here) -> io::Result<Lock> {
    let LockResult::Acquired(lock) = lock::take(layout::make(&job.lock())?)? else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    layout::make(&job.spec())?.write_all(&serde_json::to_vec(spec)?)?;
    layout::make(&job.output())?;
    capture::make_fifo(&job.feed())?;
    if !spec.streams.is_merged() {
        capture::make_fifo(&job.feed_of_stderr())?;
    }
    let mut journal = JournalWriter::create(&job.journal(), spec.journal_format())?;
    // Must happen before the first byte is written. `doctor` reports filesystems that cannot do it.
    file::begin_in_place(journal.file(), FIRST_ROOM);
    let accepted = Event::Accepted {
        boot: here.boot.clone(),
        host: Some(here.host.clone()),
    };
    // The process of an adopted job runs already, and no keeper may execute its command again.
    let running = spec.adopted.as_ref().map(|adopted| {
        let leader = adopted.process;
        let output = None;
        [Event::Spawned { leader, output }, Event::Started]
    });
    let events: Vec<Event> = iter::once(accepted)
        .chain(running.into_iter().flatten())
        .collect();
    journal.append(now(), &events)?;
    Ok(lock)
}

/// A job of a place has no output and no feed here, and its journal is filled from there.
fn fill_placed(job: &JobDir, spec: &Spec, instance: &Instance) -> io::Result<Placing> {
    layout::make(&job.lock())?;
    let mut file = layout::make(&job.spec())?;
    file.write_all(&serde_json::to_vec(spec)?)?;
    layout::make(&job.journal())?;
    Placing::begin(job, instance.clone())
}

/// Removes a job that has a name but was not started.
pub(crate) fn withdraw(outlive: &Outlive, spec: &Spec, job: &JobDir) -> Result<(), Error> {
    let random = crate::random::number()?;
    let gone = job
        .path()
        .with_file_name(format!("{GONE}{}-{random:04x}", spec.id));
    let home = outlive.home();
    // If job and post belong to one session, the link in the inbox is the post's too. A link that stays
    // is dangling and is removed later.
    links::remove(&home.live_link(&spec.id))
        .and_then(|()| fs::rename(job.path(), &gone))
        .and_then(|()| fs::remove_dir_all(&gone))
        .map_err(Error::io("cannot remove", job.path()))
}

fn link(outlive: &Outlive, spec: &Spec, job: &JobDir) -> Result<(), Error> {
    links::link_job(outlive.home(), spec, job)
        .map_err(Error::io("cannot make the links of", job.path()))
}

/// Points a link to another target in one step.
fn replace_link(target: &Path, link: &Path, id: &JobId) -> Result<(), Error> {
    // If the launcher is killed here, the leftover link does no harm.
    let random = crate::random::number().map(|random| format!("{NEW}{id}-{random:04x}"))?;
    let new = link.with_file_name(random);
    symlink(target, &new)
        .and_then(|()| fs::rename(&new, link))
        .map_err(Error::io("cannot make the link", link))
}
