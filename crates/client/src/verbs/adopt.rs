//! Makes a job of a process that somebody else started.
//!
//! ```text
//! looked at, refused or not ─► directory named, its journal says "started" ─► a pair takes it over
//! ```
//! If the launcher is killed in between, the job is one that runs without a keeper: the next verb starts a pair. Two
//! adoptions of one process are done one after the other, so the second finds the job of the first.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::adoptable::{self, Adoptable};
use crate::jobs::twin::Alone;
use crate::launch;
use crate::verbs::run::{self, Command, Run, Started};
use crate::verbs::show;
pub use outlive_api::request::Adopt;
use outlive_core::adopted::{self, AdoptedProcess};
use outlive_core::{Spec, layout};
use outlive_sys::lock::{self, LockResult};

/// Takes a running process under supervision. Returns once the job is kept.
pub fn adopt(outlive: &Outlive, asked: Adopt) -> Result<Started, Error> {
    // A repeated adoption with the same id is reported as such, and not as of a process that belongs to a job.
    if let Some(id) = asked.id.as_ref().filter(|id| outlive.has(id)) {
        return Err(Error::IdTaken(Box::new(show::show(outlive, id)?)));
    }
    let alone = Alone::take(outlive, "adopting", &asked.pid)?;
    let found = adoptable::find(outlive, asked.pid, asked.force)?;
    let notes = notes(&found.adopted.as_found);
    let id_is_given = asked.id.is_some();
    let spec = spec(outlive, asked, found)?;
    let (mut new, lock) = run::claim(outlive, spec, id_is_given)?;
    new.notes = notes;
    let spec = new.spec.clone();
    let started = run::begin(outlive, new, lock).inspect_err(|_| withdraw(outlive, &spec));
    drop(alone);
    started
}

/// Removes the job if no keeper could be started for it, because the program is missing for example: the process goes
/// on as it was. A job that a keeper has met stays, and the next verb starts a pair for it.
fn withdraw(outlive: &Outlive, spec: &Spec) {
    let job = outlive.job_dir(&spec.id);
    let lock = layout::open_or_make(&job.lock()).and_then(lock::take);
    let is_unmet = || {
        job.read_journal()
            .is_ok_and(|read| read.state.kept.is_none())
    };
    if matches!(lock, Ok(LockResult::Acquired(_))) && is_unmet() {
        // If this fails, the job stays, and verbs say why it has no keeper.
        let _ = launch::withdraw(outlive, spec, &job);
    }
}

/// What the caller must know: a process that runs already cannot be treated as one that Outlive started.
fn notes(found: &AdoptedProcess) -> Vec<String> {
    let mut notes = vec![
        adopted::output_sentence(found),
        "a process that it started and that detached itself before now is not part of the job"
            .to_owned(),
    ];
    if !found.outcome_is_told {
        notes.push(
            "its end will be reported, but not its exit code: this kernel tells that only to the process that started it (Linux 6.15 and later tell others)"
                .to_owned(),
        );
    }
    notes
}

/// The spec of a job whose command runs already.
fn spec(outlive: &Outlive, asked: Adopt, found: Adoptable) -> Result<Spec, Error> {
    let mut run = Run::new(Command::Argv(found.argv));
    run.id = asked.id;
    run.name = asked.name;
    run.session = asked.session;
    run.task = asked.task;
    run.cwd = Some(found.directory.into());
    run.timeout = asked.timeout;
    // The process runs already, where it was started.
    run.limits.memory_bytes = Some(0);
    run.grace = asked.grace;
    run.notify = Some(asked.notify);
    run.on_end = asked.on_end;
    run.leftovers = asked.leftovers;
    Ok(Spec {
        adopted: Some(found.adopted),
        ..run::specify(outlive, run)?
    })
}
