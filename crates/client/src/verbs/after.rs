//! What a keeper runs for a job that starts after others: waits for them, and says whether the job may start.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::hold::Hold;
use crate::jobs::presence;
use crate::verbs::wait::{self, Until, Wait, WaitFor};
pub use outlive_core::after::MUST_NOT_START;
use outlive_core::spec::{After, Needs};
use outlive_core::{JobId, after};
use outlive_sys::process::own;

/// Whether a job that starts after others may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of them have ended as they must.
    Start,
    /// One of them has not, for this reason.
    Never(String),
}

/// Waits until all jobs that this one starts after have ended, or until one of them has ended in a way that keeps it
/// from starting. Ends with the job's keeper, whose pid is given.
///
/// Nobody is told of those ends by this: the job's session did not ask.
pub fn after(outlive: &Outlive, id: &JobId, keeper: i32) -> Result<Verdict, Error> {
    own::die_with_parent(keeper).map_err(Error::io("cannot wait for", "the keeper"))?;
    let outlive = &Outlive::open_at(outlive.home().root())?
        .only_looking()
        .as_own_keeper();
    let spec = outlive.read_spec(id)?;
    // Until the keeper knows the verdict, none of them is pruned.
    let ids = spec.after.iter().map(|after| &after.job);
    let _holds: Vec<Option<Hold>> = ids.map(|id| Hold::on(&outlive.job_dir(id))).collect();
    let mut left = spec.after;
    loop {
        let mut open = Vec::new();
        for after in left {
            match look(outlive, &after)? {
                Seen::Ended => {}
                Seen::Refuses(reason) => return Ok(Verdict::Never(reason)),
                Seen::Runs => open.push(after),
            }
        }
        if open.is_empty() {
            return Ok(Verdict::Start);
        }
        left = open;
        sleep(outlive, &left)?;
    }
}

/// What is known of one of the other jobs.
enum Seen {
    Runs,
    Ended,
    /// It has ended in a way that keeps this job from starting.
    Refuses(String),
}

fn look(outlive: &Outlive, after: &After) -> Result<Seen, Error> {
    let met = presence::meet(outlive, &after.job);
    let read = met.and_then(|(_, state)| Ok((outlive.read_spec(&after.job)?, state)));
    let (spec, state) = match (read, after.needs) {
        (Err(Error::NoSuchJob(_)), Needs::End) => return Ok(Seen::Ended),
        (Err(Error::NoSuchJob(_)), Needs::Success) => {
            return Ok(Seen::Refuses(after::refusal_unknown(&after.job)));
        }
        (other, _) => other?,
    };
    Ok(match (state.end(), after.needs) {
        (None, _) => Seen::Runs,
        (Some(end), Needs::Success) if !end.outcome.is_success() => {
            Seen::Refuses(after::refusal(&spec, end))
        }
        (Some(_), _) => Seen::Ended,
    })
}

/// Sleeps until one of these jobs has ended, or was removed.
fn sleep(outlive: &Outlive, on: &[After]) -> Result<(), Error> {
    let ids: Vec<JobId> = on.iter().map(|after| after.job.clone()).collect();
    let how = Wait {
        what: WaitFor::End,
        until: Until::Any,
        timeout: None,
    };
    match wait::wait(outlive, &ids, how) {
        Err(Error::NoSuchJob(_)) => Ok(()),
        other => other.map(drop),
    }
}
