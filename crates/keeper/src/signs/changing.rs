//! Changing what a running job is watched for, whom it tells, and its labels.

use crate::clock;
use crate::hooks::Hook;
use crate::output::capture::Capture;
use crate::signs::detector::{Asked, Rewatch, Signs};
use crate::signs::sign_watch::SignWatch;
use crate::supervise::clients::ClientId;
use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use outlive_core::change::{self, Changed, NewWatch};
use outlive_core::control::{Change, Reply};
use outlive_core::defaults::MAX_PATTERNS;
use outlive_core::event::Event;
use outlive_core::{Notify, labels};

/// Why a change is refused, for people.
type Refusal = String;

impl Keeper<'_> {
    pub(crate) fn change(&mut self, client: ClientId, asked: &Change) {
        let Keeper {
            job, output, signs, ..
        } = self;
        let changed = signs.change(job, &output.capture, asked);
        let reply = match changed {
            Ok(()) => Reply::Changed,
            Err(reason) => Reply::Refused { reason },
        };
        self.clients.reply(client, &reply);
    }
}

impl SignWatch {
    /// Journals the change and goes on with it. A change that was made before is made already.
    fn change(
        &mut self,
        job: &mut KeptJob,
        capture: &Capture,
        asked: &Change,
    ) -> Result<(), Refusal> {
        job.reach(Hook::ChangeAsked);
        // Everything up to now belongs to the present watch.
        self.look_at_output(job, capture);
        let rewatch = self.rewatch(job, capture, asked)?;
        let (watch, rewatch) = rewatch.unzip();
        let changed = Changed {
            watch,
            notify: notify(job, asked)?,
            labels: relabeled(job, asked)?,
            session: asked.session.clone(),
            resume: resume_of(rewatch.as_ref()),
        };
        if changed.is_empty() {
            return Ok(());
        }
        let found = rewatch.as_ref().and_then(|it| it.found.clone());
        let before = rewatch.as_ref().and_then(|it| it.before.clone());
        let changed = Event::Changed(Box::new(changed));
        let events: Vec<Event> = before.into_iter().chain([changed]).chain(found).collect();
        job.ledger
            .write(&events)
            .map_err(|error| format!("the change cannot be written down: {error}"))?;
        job.reach(Hook::ChangeWritten);
        if let Some(rewatch) = rewatch {
            self.go_on(job, capture, rewatch);
        }
        Ok(())
    }

    /// The new watch, if there is one, and how to go on with it.
    fn rewatch(
        &self,
        job: &KeptJob,
        capture: &Capture,
        asked: &Change,
    ) -> Result<Option<(outlive_core::Watch, Rewatch)>, Refusal> {
        let (spec, state) = (job.spec(), job.state());
        let now = state.watch(spec);
        let mut new = change::rewatched(now, &asked.usual, &asked.watch);
        // A watch that has stopped begins again, and so do all patterns that are asked for.
        let signs = self.signs.as_deref();
        let has_stopped = now.is_some() && signs.is_none_or(Signs::has_stopped_watching);
        let begins_again = has_stopped && !asked.watch.add.is_empty();
        if begins_again {
            new.added.clone_from(&asked.watch.add);
        }
        let is_same = match now {
            Some(now) => *now == new.watch && !begins_again,
            None => new.watch.patterns.is_empty(),
        };
        if is_same {
            return Ok(None);
        }
        refuse(job, &new)?;
        if signs.is_some_and(Signs::has_unwritten) {
            return Err(
                "matches of the present watch cannot be written down; is the disk full?".to_owned(),
            );
        }
        let asked = Asked {
            new: &new,
            look_back: asked.watch.look_back,
        };
        let (output, size) = (capture.output(), capture.size());
        let job = (&job.shared.directory, spec, state);
        let rewatch = Signs::plan(signs, job, output, size, &asked);
        let rewatch = rewatch.map_err(|error| format!("its output cannot be read: {error}"))?;
        Ok(Some((new.watch, rewatch)))
    }

    /// Goes on with the watch that the journal names now.
    fn go_on(&mut self, job: &mut KeptJob, capture: &Capture, rewatch: Rewatch) {
        let now = clock::now();
        let parts = (&job.shared.directory, job.spec(), job.state());
        let old = self.signs.take();
        let signs = Signs::anew(old, parts, capture.size(), now, rewatch);
        // Its patterns were tried before, so this does not fail.
        self.signs = signs.ok().flatten();
        self.look_at_output(job, capture);
    }
}

fn resume_of(rewatch: Option<&Rewatch>) -> serde_json::Value {
    rewatch.map_or(serde_json::Value::Null, |rewatch| rewatch.resume.clone())
}

fn refuse(job: &KeptJob, new: &NewWatch) -> Result<(), Refusal> {
    const ENDED: &str = "it has ended, so there is nothing to watch any more";
    let number = new.watch.patterns.len();
    match Signs::refusal(&new.watch) {
        _ if job.has_ended() => Err(ENDED.to_owned()),
        _ if number > MAX_PATTERNS => Err(format!(
            "it would be watched for {number} patterns, and {MAX_PATTERNS} are the most; drop some, or join some to \
             one regular expression"
        )),
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// Of which ends the session is told, if that changes.
fn notify(job: &KeptJob, asked: &Change) -> Result<Option<Notify>, Refusal> {
    let now = job.state().notify(job.spec());
    match asked.watch.notify.filter(|notify| *notify != now) {
        Some(_) if job.has_ended() => {
            Err("it has ended, so its end is told or not as it was asked".to_owned())
        }
        notify => Ok(notify),
    }
}

/// All labels, if they change.
fn relabeled(job: &KeptJob, asked: &Change) -> Result<Option<labels::Labels>, Refusal> {
    let now = job.state().labels(job.spec());
    let new = asked.labels.apply(now);
    labels::check(&new).map_err(|bad| bad.to_string())?;
    Ok((new != *now).then_some(new))
}
