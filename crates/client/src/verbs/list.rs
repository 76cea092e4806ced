//! Lists running jobs and the newest ended ones. The cost depends on the result, not on all jobs that
//! ever ran.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::verbs::show;
use outlive_api::job::Job;
pub use outlive_api::request::{Filter, StateFilter};
use outlive_core::{JobId, Label, history};
use std::collections::HashSet;
use std::time::Duration;

/// How long all keepers together have to answer. People look at the list first when something is wrong.
const PATIENCE: Duration = Duration::from_millis(300);

/// Links only preselect; the job itself decides.
fn admits(filter: &Filter, job: &Job) -> bool {
    let same = |asked: &Option<Label>, has: &Option<Label>| asked.is_none() || asked == has;
    same(&filter.session, &job.session) && same(&filter.task, &job.task)
}

/// The result.
#[derive(Debug, Default)]
pub struct Listing {
    /// Running jobs by start, then ended jobs, newest end first.
    pub jobs: Vec<Job>,
    /// Jobs whose directories could not be read.
    pub unreadable: Vec<(JobId, Error)>,
}

/// Lists jobs.
pub fn list(outlive: &Outlive, filter: &Filter) -> Result<Listing, Error> {
    let mut listing = Listing::default();
    let allowed: Option<HashSet<JobId>> = match &filter.session {
        Some(session) => Some(outlive.session_ids(session)?.into_iter().collect()),
        None => None,
    };
    let allows = |id: &JobId| allowed.as_ref().is_none_or(|allowed| allowed.contains(id));
    let mut seen = HashSet::new();

    let mut live = outlive.live_ids()?;
    live.retain(allows);
    live.sort();
    let mut ended = Vec::new();
    let shown = show::show_all(outlive, &live, PATIENCE);
    for (id, job) in live.into_iter().zip(shown) {
        let Some(job) = listing.take(&id, job, filter) else {
            continue;
        };
        seen.insert(id);
        // It is still linked, because it has just ended or some of its processes still run.
        match job.has_ended() {
            true => ended.push(job),
            false if filter.state != StateFilter::Ended => listing.jobs.push(job),
            false => {}
        }
    }
    listing
        .jobs
        .sort_by(|a, b| (&a.started_at, &a.id).cmp(&(&b.started_at, &b.id)));
    if filter.usage {
        show::add_usage(outlive, &mut listing.jobs);
    }
    if filter.state == StateFilter::Running {
        return Ok(listing);
    }
    let mut from_history = 0;
    let newest = history::newest(outlive.home());
    for entry in newest.map_err(Error::io("cannot read", outlive.home().ended()))? {
        if from_history >= filter.limit {
            break;
        }
        if allows(&entry.id)
            && seen.insert(entry.id.clone())
            && outlive.job_dir(&entry.id).path().is_dir()
            && let Some(job) = listing.take(&entry.id, show::show(outlive, &entry.id), filter)
        {
            ended.push(job);
            from_history += 1;
        }
    }
    ended.sort_by_key(|job| std::cmp::Reverse(job.ended_at));
    ended.truncate(filter.limit);
    listing.jobs.append(&mut ended);
    Ok(listing)
}

impl Listing {
    fn take(&mut self, id: &JobId, job: Result<Job, Error>, filter: &Filter) -> Option<Job> {
        match job {
            Ok(job) => admits(filter, &job).then_some(job),
            // It was removed, or does not exist yet: only its link does.
            Err(Error::NoSuchJob(_)) => None,
            Err(error) => {
                self.unreadable.push((id.clone(), error));
                None
            }
        }
    }
}
