//! Starts jobs at a place, each at most once however often it is asked for.
//!
//! The courier repeats a launch until it knows how it went. A job that is there is recognised by its incarnation. If
//! the far end that made its directory was killed before it started a keeper, and nobody has looked at the job since,
//! the repeated launch starts it.

use super::Far;
use super::epoch;
use super::greeting::Greeted;
use super::login;
use super::standing::standing;
use crate::environment;
use crate::environment::inherited::JobVariables;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use crate::launch::keeper_process::{self, StartResult};
use crate::launch::{self, NameClaim};
use crate::verbs::run::{self, turns};
use outlive_core::far::{FarVariables, Launch, Launched, Standing};
use outlive_core::layout;
use outlive_core::os_text::OsText;
use outlive_core::{JobId, Phase, Spec, spec};
use outlive_sys::lock::{self, Lock, LockResult};
use std::ffi::OsString;
use std::io;

/// What `sshd` says about the connection. The job outlives that. And bash reads `.bashrc` if it finds them, whose words
/// would be in the job's output.
const OF_THE_CONNECTION: [&str; 4] = ["SSH_CLIENT", "SSH2_CLIENT", "SSH_CONNECTION", "SSH_TTY"];

/// Another process may prune a job that has the id; then the id is free.
const MAX_TRIES: usize = 3;

/// Starts a job, unless it is there.
pub fn launch(far: &Far, greeted: &Greeted, asked: Launch) -> Result<Launched, Error> {
    // Before anything that may fail: it may be there, and the answer that said so was lost.
    if asked.spec.incarnation.is_some() && look(&far.outlive, &asked.spec)? == Found::Ours {
        resume(&far.outlive, &asked.spec, || {
            variables(far, asked.variables, asked.login)
        });
        return Ok(Launched::There);
    }
    if let Some(reason) = refusal(&asked, greeted) {
        return Ok(Launched::NotMade { reason });
    }
    if let Some(reason) = wrong_after(&far.outlive, greeted, &asked.spec)? {
        return Ok(Launched::NotMade { reason });
    }
    let variables = match variables(far, asked.variables, asked.login) {
        Ok(variables) => variables,
        Err(error) => return Ok(not_made(&error)),
    };
    let spec = Spec {
        cwd: below(greeted, &asked.spec.cwd),
        // Keepers here run this program.
        waiter: match asked.spec.after.is_empty() {
            true => Vec::new(),
            false => turns::waiter(&far.outlive)?,
        },
        ..asked.spec
    };
    for _ in 0..MAX_TRIES {
        let shared = epoch::share(greeted)?;
        if shared.epoch != asked.epoch {
            return Ok(Launched::Stale);
        }
        let made = launch::make(&far.outlive, &spec);
        drop(shared);
        match made {
            Ok(NameClaim::Claimed(lock)) => {
                begin(&far.outlive, &spec, lock, &variables);
                return Ok(Launched::There);
            }
            Ok(NameClaim::Taken) => match look(&far.outlive, &spec)? {
                Found::Ours => {
                    resume(&far.outlive, &spec, || Ok(variables));
                    return Ok(Launched::There);
                }
                Found::Another => return Ok(Launched::IdTaken),
                Found::Nothing => {}
            },
            Err(Error::IdOfPost(_)) => return Ok(Launched::IdTaken),
            Err(error) => return Ok(withdraw(&far.outlive, &spec, &error)),
        }
    }
    Ok(Launched::IdTaken)
}

/// Why nothing can be started from this request, whatever is there.
fn refusal(asked: &Launch, greeted: &Greeted) -> Option<String> {
    let spec = &asked.spec;
    if spec.format > spec::FORMAT {
        return Some(format!(
            "its spec is in format {}, newer than this program",
            spec.format
        ));
    }
    if spec.incarnation.is_none() || spec.session.as_ref() != Some(&greeted.session) {
        return Some("its spec is not one of a courier of this home".to_owned());
    }
    if spec.adopted.is_some() {
        return Some("a job of a place cannot be adopted".to_owned());
    }
    if !spec.waiter.is_empty() {
        return Some("what waits for other jobs is of this place".to_owned());
    }
    if spec.argv.is_empty() {
        return Some(Error::NoCommand.to_string());
    }
    let checked = run::refuse_nul(spec).and_then(|()| run::refuse_patterns(spec));
    let wrong = checked.err().map(|error| error.to_string());
    wrong.or_else(|| wrong_variable(&asked.variables))
}

/// A job starts after others of the courier's home. One that is not there any more has ended.
fn wrong_after(outlive: &Outlive, greeted: &Greeted, spec: &Spec) -> Result<Option<String>, Error> {
    for after in &spec.after {
        if standing(outlive, greeted, &after.job)? == Standing::OtherJob {
            let id = &after.job;
            return Ok(Some(format!("another job there has the id {id}")));
        }
    }
    Ok(None)
}

fn wrong_variable(variables: &FarVariables) -> Option<String> {
    let has_nul = |text: &OsText| text.as_bytes().contains(&0);
    let is_wrong = |name: &OsText| {
        name.as_bytes().is_empty() || name.as_bytes().contains(&b'=') || has_nul(name)
    };
    let names = variables.set.iter().map(|(name, _)| name);
    if let Some(name) = names.chain(&variables.removed).find(|name| is_wrong(name)) {
        return Some(Error::BadVariable(name.lossy()).to_string());
    }
    // The value may be a secret, so it is not shown.
    let wrong = variables.set.iter().find(|(_, value)| has_nul(value));
    wrong.map(|(name, _)| Error::Nul(name.lossy()).to_string())
}

/// What makes the environment of the job out of that of this process.
fn variables(far: &Far, asked: FarVariables, login: bool) -> Result<JobVariables, Error> {
    let mut removed: Vec<OsString> = OF_THE_CONNECTION.map(OsString::from).to_vec();
    let mut set = Vec::new();
    if login {
        let login = far.login_variables()?;
        removed.extend(login::absent(&login));
        set = login;
        set.retain(|(name, _)| !removed.contains(name));
    }
    // So that what a job starts here uses the same home.
    let root = far.outlive.home().root();
    set.push((environment::HOME.into(), root.as_os_str().to_owned()));
    let asked_removed: Vec<OsString> = asked.removed.into_iter().map(|name| name.0).collect();
    set.retain(|(name, _)| !asked_removed.contains(name));
    removed.extend(asked_removed);
    set.extend(asked.set.into_iter().map(|(name, value)| (name.0, value.0)));
    Ok(JobVariables::changing(removed, set))
}

/// A relative directory is below the one where a login begins.
fn below(greeted: &Greeted, cwd: &OsText) -> OsText {
    match cwd.as_bytes().is_empty() {
        true => greeted.login_directory.clone().into(),
        false => greeted.login_directory.join(cwd.as_path()).into(),
    }
}

fn not_made(error: &Error) -> Launched {
    Launched::NotMade {
        reason: error.to_string(),
    }
}

/// Starts the keepers. A job that cannot start is there all the same, and its journal says why. If that cannot be
/// written now, whoever meets the job next finds that nobody has started it.
fn begin(outlive: &Outlive, spec: &Spec, lock: Lock, variables: &JobVariables) {
    let reason = match launch::start(outlive, spec, lock, variables) {
        Ok(StartResult::Ready) => None,
        Ok(StartResult::Died) => Some(run::KEEPERS_DIED.to_owned()),
        Err(error) => Some(error.to_string()),
    };
    keeper_process::reap();
    if let Some(reason) = reason {
        let _ = presence::abandon(outlive, &spec.id, &reason);
    }
}

/// Whose job has the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Ours,
    Another,
    Nothing,
}

fn look(outlive: &Outlive, spec: &Spec) -> Result<Found, Error> {
    match outlive.read_spec(&spec.id) {
        Ok(there) if is_same(&there, spec) => Ok(Found::Ours),
        Ok(_) => Ok(Found::Another),
        Err(error) if error.is_no_such_job() => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

fn is_same(one: &Spec, other: &Spec) -> bool {
    one.incarnation == other.incarnation && one.session == other.session
}

/// The job is there. Starts it if nobody has, and nobody has recorded that nobody will.
fn resume(outlive: &Outlive, spec: &Spec, variables: impl FnOnce() -> Result<JobVariables, Error>) {
    // If its journal cannot be read now, whoever meets it next says what became of it.
    let Ok(Some(lock)) = take_unstarted(outlive, &spec.id) else {
        return;
    };
    match variables() {
        Ok(variables) => begin(outlive, spec, lock, &variables),
        Err(error) => {
            drop(lock);
            let _ = presence::abandon(outlive, &spec.id, &error.to_string());
        }
    }
}

/// The lock of a job that has only been accepted.
fn take_unstarted(outlive: &Outlive, id: &JobId) -> Result<Option<Lock>, Error> {
    let job = outlive.job_dir(id);
    let is_unstarted = || -> Result<bool, Error> {
        let journal = job.read_journal()?;
        let state = &journal.state;
        let is_whole = journal.damaged == 0 && state.seq == 1;
        Ok(is_whole && state.phase == Phase::Accepted && state.kept.is_none())
    };
    if !is_unstarted()? {
        return Ok(None);
    }
    let failed = || Error::io("cannot take the lock", job.lock());
    let lock = layout::open_or_replace(&job.lock()).and_then(lock::take);
    match lock.map_err(failed())? {
        // Whoever had the lock before may have written.
        LockResult::Acquired(lock) => Ok(is_unstarted()?.then_some(lock)),
        LockResult::Held => Ok(None),
    }
}

/// The directory was not made, or it was and the rest failed: then the job is there and was not started. A directory
/// that cannot be read may be that of the job, so it counts as there: whoever follows it finds out.
fn withdraw(outlive: &Outlive, spec: &Spec, error: &Error) -> Launched {
    let is_there = match look(outlive, spec) {
        Ok(found) => found == Found::Ours,
        Err(_) => {
            let found = outlive.job_dir(&spec.id).path().symlink_metadata();
            !matches!(found, Err(missing) if missing.kind() == io::ErrorKind::NotFound)
        }
    };
    if !is_there {
        return not_made(error);
    }
    let _ = presence::abandon(outlive, &spec.id, &error.to_string());
    Launched::There
}
