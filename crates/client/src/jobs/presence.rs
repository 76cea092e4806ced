//! Meeting a job: every verb comes through here, so that a job whose keepers died is never left so.
//!
//! ```text
//!  journal says it is over ────────────────────────────► Over
//!  it is another host's ───────────────────────────────► Elsewhere: left alone
//!  its lock is held ───────────────────────────────────► Kept
//!  nobody holds it: take the lock, look again, then
//!     nothing can be running (never started, restarted) ─ record that ──► Over
//!     something may be running ─ start a fresh pair: it adopts the job ─► Kept, or Over
//! ```
//! Doorbells are a keeper's to ring: a job that was recorded here and has some gets a pair for that.

use crate::environment;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::{Answer, Connection, PATIENCE};
use crate::jobs::job::Seen;
use crate::jobs::whereabouts::{self, Elsewhere, Gone, Whereabouts};
use crate::launch::keeper_process::{self, Begun};
use crate::moment::now;
use outlive_core::control::{Reply, Request};
use outlive_core::ending::{self, Remaining};
use outlive_core::event::{Event, LingeringEnded, Moment};
use outlive_core::layout;
use outlive_core::outcome::{End, EndedBy, NotStarted, Outcome};
use outlive_core::{
    JobDir, JobId, JournalWriter, Phase, ProcRef, Spec, State, doorbell, named, output, words,
};
use outlive_sys::lock::{self, Lock, Locked};
use outlive_sys::{capture, clock, process, tree};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

/// Whether anybody looks after a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A keeper, or a launcher about to start one.
    Kept,
    /// Nothing of the job is left, so nobody needs to.
    Over,
    /// Somebody on another host may. From here only the files of the job can be read.
    Elsewhere(Elsewhere),
}

/// A few tries are plenty: each ends with a keeper that lives or a job that is over, unless
/// something kills every keeper as it comes.
const TRIES: usize = 5;

/// For the short whiles whose end nothing tells.
const MOMENT: Duration = Duration::from_millis(1);

/// Makes sure that the job is looked after or over, and reads its state.
pub fn meet(outlive: &Outlive, id: &JobId) -> Result<(Presence, State), Error> {
    try_to_meet(outlive, id).map_err(|error| outlive.unless_removed(id, error))
}

fn try_to_meet(outlive: &Outlive, id: &JobId) -> Result<(Presence, State), Error> {
    let job = outlive.job_dir(id);
    for _ in 0..TRIES {
        let state = job.read_journal()?.state;
        let synced = sync_end(outlive, id, &state);
        if state.is_final() {
            // Its last keeper may have died before it could clear up, or found the disk full. That
            // may be so still, and is no reason not to tell how the job ended.
            if let Ok(true) = synced {
                let _ = clear_up(outlive, id, &state);
            }
            return Ok((Presence::Over, state));
        }
        // Found out before the lock is taken here: that somebody has it is what tells of other namespaces.
        let gone = match whereabouts::find(outlive, &job, &state)? {
            Whereabouts::Here => None,
            Whereabouts::Gone(why) => Some(why),
            Whereabouts::Elsewhere(there) => return Ok((Presence::Elsewhere(there), state)),
        };
        // Asked without opening it for writing: a home may be read-only, and its jobs are still to be reached.
        let is_kept = is_kept(&job).map_err(Error::io("cannot look at the lock", job.lock()));
        // What stands in the place of the lock is replaced below.
        if is_kept.unwrap_or(false) {
            return Ok((Presence::Kept, state));
        }
        match lock::take(open_lock(&job)?).map_err(Error::io("cannot take the lock", job.lock()))? {
            Locked::Taken => {}
            // The lock is not the one they hold: something else was put in its place.
            Locked::Mine(_) if keeper_lives(&state) => return Ok((Presence::Kept, state)),
            Locked::Mine(lock) => mend(outlive, &job, id, lock, gone)?,
        }
    }
    Err(Error::KeeperFailed(id.clone()))
}

/// Whether one of those who kept the job last is there still. A second pair beside it would take the
/// output from under its hands.
fn keeper_lives(state: &State) -> bool {
    let Some(kept) = &state.kept else {
        return false;
    };
    let lives = |process: &ProcRef| {
        let stat = process::stat(process.pid);
        stat.is_some_and(|stat| stat.started == process.started && !stat.is_zombie())
    };
    whereabouts::here().is_ok_and(|here| here.has_processes_of(state))
        && [Some(kept.keeper), kept.standby]
            .iter()
            .flatten()
            .any(lives)
}

/// An end is on the disk before anybody hears of it. Who wrote it may not have come to that yet, or have
/// died before, as long as the job is among the live ones: so whoever reads it sees to it as well. Says
/// whether it was to. A disk that cannot is no reason not to tell how the job ended.
pub(crate) fn sync_end(outlive: &Outlive, id: &JobId, state: &State) -> io::Result<bool> {
    let live = outlive.home().live_link(id);
    let is_open = state.end().is_some() && live.symlink_metadata().is_ok();
    if is_open {
        layout::sync(&layout::open(&outlive.job_dir(id).journal())?)?;
    }
    Ok(is_open)
}

/// Takes a job out of what runs whose last keeper could not. Its id must not become another job's
/// meanwhile, whose files would go instead.
fn clear_up(outlive: &Outlive, id: &JobId, state: &State) -> io::Result<()> {
    let job = outlive.job_dir(id);
    let Some(_named) = named::share(job.path())? else {
        return Ok(());
    };
    if !job.read_journal().is_ok_and(|now| now.state == *state) {
        return Ok(());
    }
    if let Some(at) = state.ended_at() {
        ending::note(&job, job.read_spec().ok().as_ref(), at.wall_ms)?;
    }
    ending::retire(&job)
}

fn open_lock(job: &JobDir) -> Result<File, Error> {
    layout::open_or_replace(&job.lock()).map_err(Error::io("cannot open", job.lock()))
}

/// What to do about a job that nobody looks after.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    /// It was over already.
    Nothing,
    Adopt,
    /// It cannot be running, so how it ended is written down.
    Settle(Outcome),
    /// It had ended, and what lingered cannot be running.
    Close,
}

fn remedy(state: &State, spec: Option<&Spec>, damaged: bool, gone: Option<Gone>) -> Remedy {
    match &state.phase {
        _ if state.is_final() => Remedy::Nothing,
        Phase::Unwritten if gone == Some(Gone::Restarted) => Remedy::Settle(Outcome::Lost {
            reason: "the machine was restarted before its journal was on the disk: whether it ran is not known"
                .to_owned(),
        }),
        Phase::Unwritten => Remedy::Settle(Outcome::Lost {
            reason: "its journal is empty or damaged: nothing is known of it".to_owned(),
        }),
        // What was journaled last before the power was lost may be missing or damaged.
        Phase::Accepted if gone == Some(Gone::Restarted) => Remedy::Settle(Outcome::Lost {
            reason:
                "the machine was restarted as it was being started: whether it ran is not known"
                    .to_owned(),
        }),
        // What is missing may have been its start.
        Phase::Accepted if damaged => Remedy::Settle(Outcome::Lost {
            reason: "its journal is damaged: whether it ran is not known".to_owned(),
        }),
        Phase::Accepted => Remedy::Settle(Outcome::NotStarted {
            reason: match spec.filter(|spec| spec.lock.is_some() && state.kept.is_some()) {
                Some(spec) if state.is_stopped_early() => words::stopped_waiting(spec),
                Some(spec) => words::unkept_waiting(spec),
                None => "whoever was starting it was killed first".to_owned(),
            },
            cause: NotStarted::Failed,
        }),
        Phase::Ended { .. } if gone.is_some() && !is_to_ring(state, spec) => Remedy::Close,
        Phase::Ended { .. } => Remedy::Adopt,
        Phase::Spawned(_) | Phase::Running(_) | Phase::Stopping(..) => match gone {
            None => Remedy::Adopt,
            Some(Gone::Restarted) => Remedy::Settle(Outcome::Lost {
                reason: "the machine was restarted while it ran".to_owned(),
            }),
            Some(Gone::NamespaceEnded) => Remedy::Settle(Outcome::Lost {
                reason: "the container or PID namespace that it ran in has ended".to_owned(),
            }),
        },
    }
}

fn is_to_ring(state: &State, spec: Option<&Spec>) -> bool {
    spec.is_some_and(|spec| doorbell::any_waits(state, &spec.doorbells, clock::boot_ms()))
}

/// With the lock held, so that only one process does this.
fn mend(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    gone: Option<Gone>,
) -> Result<(), Error> {
    let failed = || Error::io("cannot write the journal of", job.path());
    let before_boot = gone.is_none() && whereabouts::is_from_before_boot(outlive, job);
    let mut journal = JournalWriter::open(&job.journal())?;
    // A journal that says nothing does not say of which boot it is either.
    let gone = match journal.state().boot {
        None if before_boot => Some(Gone::Restarted),
        _ => gone,
    };
    let at = now();
    let spec = outlive.read_spec(id).ok();
    let bound = spec.as_ref().and_then(Spec::bound);
    let output_bytes = output::size_of(job, bound);
    let middle = bound.map_or(0..0, |bound| bound.dropped(output_bytes));
    let dropped_bytes = journal.state().missing_bytes(&middle);
    match remedy(journal.state(), spec.as_ref(), journal.is_damaged(), gone) {
        Remedy::Nothing => Ok(()),
        Remedy::Adopt => keeper_process::start(outlive, job, id, lock, &[]).map(drop),
        Remedy::Settle(outcome) => {
            let mut end = End::unseen(outcome, output_bytes, dropped_bytes);
            if journal.state().is_stopped_early() {
                let ender = journal.state().ended_by(false);
                end.ended_by = ender.by;
                end.ended_by_detail = ender.detail;
                end.ended_by_session = ender.session;
            }
            match settle(job, &mut journal, at, spec.as_ref(), end).map_err(failed())? {
                Remaining::Nothing => Ok(()),
                Remaining::Lingering => {
                    keeper_process::start(outlive, job, id, lock, &[]).map(drop)
                }
            }
        }
        Remedy::Close => close(job, &mut journal, output_bytes, dropped_bytes).map_err(failed()),
    }
}

/// Records an end; says whether there is something left to do, which is to ring.
fn settle(
    job: &JobDir,
    journal: &mut JournalWriter,
    at: Moment,
    spec: Option<&Spec>,
    end: End,
) -> io::Result<Remaining> {
    let mut bells = spec.iter().flat_map(|spec| &spec.doorbells);
    if !bells.any(|bell| bell.on.rings_for(&end.outcome)) {
        return ending::settle(job, spec, journal, at, end).map(|()| Remaining::Nothing);
    }
    let findable = ending::make_findable(job, spec);
    ending::record(findable, journal, at, end, Remaining::Lingering)?;
    ending::note(job, spec, at.wall_ms)?;
    Ok(Remaining::Lingering)
}

/// Nothing more will come of an ended job.
fn close(
    job: &JobDir,
    journal: &mut JournalWriter,
    output_bytes: u64,
    dropped_bytes: u64,
) -> io::Result<()> {
    let closed = Event::Closed {
        output_bytes,
        dropped_bytes,
        // Nobody kept what lingered to its end.
        output_complete: journal.state().end().is_some_and(|end| end.lingering == 0),
    };
    let gone = match journal.state().lingering() {
        0 => None,
        lingering => Some(Event::LingeringEnded(LingeringEnded {
            lingering,
            ended_by: EndedBy::Unknown,
            seen: false,
            output_bytes,
        })),
    };
    let events: Vec<Event> = gone.into_iter().chain([closed]).collect();
    journal.append(now(), &events)?;
    journal.sync()?;
    ending::retire(job)
}

/// Records why a job was not started whose keepers could not be, or died.
pub fn abandon(outlive: &Outlive, id: &JobId, reason: &str) -> Result<(), Error> {
    let job = outlive.job_dir(id);
    let failed = || Error::io("cannot write the journal of", job.path());
    let lock = loop {
        if job.read_journal()?.state.phase != Phase::Accepted {
            return Ok(());
        }
        match lock::take(open_lock(&job)?).map_err(failed())? {
            Locked::Mine(lock) => break lock,
            // Its keepers, which are about to be gone.
            Locked::Taken => thread::sleep(MOMENT),
        }
    };
    let mut journal = JournalWriter::open(&job.journal())?;
    if journal.state().phase != Phase::Accepted {
        return Ok(());
    }
    let outcome = Outcome::NotStarted {
        reason: reason.to_owned(),
        cause: NotStarted::Failed,
    };
    let spec = outlive.read_spec(id)?;
    let end = End::unseen(outcome, 0, 0);
    if settle(&job, &mut journal, now(), Some(&spec), end).map_err(failed())? == Remaining::Nothing
    {
        return Ok(());
    }
    drop(journal);
    if let Ok(Begun::Ready) = keeper_process::start(outlive, &job, id, lock, &[]) {
        return Ok(());
    }
    // Nobody can be had to ring, which the next one to meet it would find as well.
    if let Locked::Mine(_lock) = lock::take(open_lock(&job)?).map_err(failed())? {
        let mut journal = JournalWriter::open(&job.journal())?;
        if !journal.state().is_final() {
            close(&job, &mut journal, 0, 0).map_err(failed())?;
        }
    }
    Ok(())
}

/// Connects to the job's keeper; `None` once the job is over.
pub fn reach(outlive: &Outlive, id: &JobId) -> Result<Option<Connection>, Error> {
    reach_within(outlive, id, PATIENCE)
}

/// The same with less patience for a keeper that takes no connections.
pub fn reach_within(
    outlive: &Outlive,
    id: &JobId,
    patience: Duration,
) -> Result<Option<Connection>, Error> {
    let job = outlive.job_dir(id);
    // Between taking the lock and listening a keeper is on its way, and nothing tells when it has
    // come. That is a millisecond; a minute means that something is very wrong.
    let begun = clock::boot_ms();
    loop {
        let (presence, state) = meet(outlive, id)?;
        match presence {
            Presence::Over => return Ok(None),
            Presence::Elsewhere(there) => {
                return Err(Error::Unreachable {
                    id: id.clone(),
                    reason: there.reason,
                    host: there.host,
                });
            }
            Presence::Kept => {}
        }
        if let Some(connection) = Connection::open(&job, patience)? {
            return Ok(Some(connection));
        }
        // Who stands in the journal has listened since before: its socket was taken away, or it is about
        // to be gone.
        let patience_ms = match keeper_lives(&state) {
            true => 1_000,
            false => 60_000,
        };
        if clock::boot_ms() > begun + patience_ms {
            return Err(Error::NoAnswer(id.clone()));
        }
        thread::sleep(MOMENT);
    }
}

/// What came of asking a keeper what it sees.
#[derive(Clone, Copy, Debug)]
pub enum Looked {
    /// Nothing is left to be seen of a job that is over.
    Seen(Seen),
    /// It did not answer in time.
    Silent,
}

/// What the job's keeper sees of it now.
pub fn look(outlive: &Outlive, id: &JobId, patience: Duration) -> Result<Looked, Error> {
    let asked = Asked::of(outlive, id, patience)?;
    asked.answer(outlive, id, clock::boot_ms() + patience.as_millis() as u64)
}

/// A keeper that was asked what it sees. Many can be asked before the first answer is waited for.
#[derive(Debug)]
pub struct Asked(Option<Connection>);

impl Asked {
    pub fn of(outlive: &Outlive, id: &JobId, patience: Duration) -> Result<Asked, Error> {
        let connection = reach_within(outlive, id, patience)?;
        if let Some(connection) = &connection {
            connection.send(&Request::Look)?;
        }
        Ok(Asked(connection))
    }

    /// Its answer, if that comes by then (in milliseconds since boot).
    pub fn answer(self, outlive: &Outlive, id: &JobId, until: u64) -> Result<Looked, Error> {
        let Some(mut connection) = self.0 else {
            return Ok(Looked::Seen(Seen::default()));
        };
        match connection.receive_until(id, until)? {
            Some(Answer::Reply(Reply::Look {
                processes,
                awaiting,
                line_mode,
            })) => Ok(Looked::Seen(Seen {
                processes,
                awaiting,
                line_mode,
            })),
            Some(Answer::Reply(_)) => Err(Error::NoAnswer(id.clone())),
            // Another keeper has it now, or it is over.
            Some(Answer::KeeperGone) if clock::boot_ms() < until => {
                Asked::of(outlive, id, PATIENCE)?.answer(outlive, id, until)
            }
            Some(Answer::KeeperGone) | None => Ok(Looked::Silent),
        }
    }
}

/// Asks a keeper and waits for its answer, for as long as it is there to give one.
pub fn ask(
    outlive: &Outlive,
    id: &JobId,
    connection: &mut Connection,
    request: &Request,
) -> Result<Answer, Error> {
    connection.send(request)?;
    answer(outlive, id, connection)
}

/// Waits for the answer to the last request. Some take long (a stop with its grace); so a keeper that has not
/// answered is asked for a sign of life, less and less often. One that gives none is suspended.
pub fn answer(outlive: &Outlive, id: &JobId, connection: &mut Connection) -> Result<Answer, Error> {
    let mut pause = SIGN_OF_LIFE;
    loop {
        let until = clock::boot_ms() + pause.as_millis() as u64;
        if let Some(answer) = connection.receive_until(id, until)? {
            return Ok(answer);
        }
        match look(outlive, id, SIGN_OF_LIFE) {
            Ok(Looked::Silent) => return Err(Error::NoAnswer(id.clone())),
            Err(error) if error.is_silence() => return Err(Error::NoAnswer(id.clone())),
            // What else is wrong, the answer tells, or the end of the connection.
            Ok(Looked::Seen(_)) | Err(_) => pause = (pause * 2).min(Duration::from_secs(60)),
        }
    }
}

/// On the busiest machine a keeper that is not suspended answers within this time.
const SIGN_OF_LIFE: Duration = Duration::from_secs(4);

/// Whether something of a job may be running, as far as can be told without adopting it. Where nothing can be
/// told, it may.
pub fn may_run(outlive: &Outlive, id: &JobId) -> bool {
    let job = outlive.job_dir(id);
    let is_final = job.read_journal().map(|journal| journal.state.is_final());
    let whereabouts = match job.read_journal() {
        Ok(journal) => whereabouts::find(outlive, &job, &journal.state),
        // Nobody knows where it was, so it is looked for here.
        Err(_) => Ok(Whereabouts::Here),
    };
    match whereabouts {
        _ if matches!(is_final, Ok(true)) => false,
        Ok(Whereabouts::Gone(_)) => false,
        Ok(Whereabouts::Elsewhere(_)) | Err(_) => true,
        // A keeper, somebody who has its output open, or a process that bears its mark.
        Ok(Whereabouts::Here) => {
            is_kept(&job).unwrap_or(true)
                || capture::is_open(&job.feed()).unwrap_or(true)
                || has_marked_processes(&job).unwrap_or(true)
        }
    }
}

/// Whether a process runs that was started as part of this job.
fn has_marked_processes(job: &JobDir) -> io::Result<bool> {
    for pid in tree::all()? {
        let mark = process::started_with(pid, environment::JOB_DIR)?;
        let is_marked = mark.is_some_and(|mark| mark == job.path().as_os_str().as_bytes());
        if is_marked && process::look(pid)?.is_some_and(|stat| !stat.is_zombie()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For reading a lock file that may be missing in a damaged directory.
pub fn is_kept(job: &JobDir) -> io::Result<bool> {
    match layout::open(&job.lock()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => lock::is_taken(&other?),
    }
}

#[cfg(test)]
mod tests;
