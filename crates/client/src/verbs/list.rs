//! Lists running jobs and the newest ended ones. The cost depends on the result, not on all jobs that
//! ever ran.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::verbs::show;
use outlive_api::job::Job;
pub use outlive_api::request::{Filter, Selector, StateFilter};
use outlive_core::{JobId, WallTime, history};
use std::collections::HashSet;
use std::time::Duration;

/// How long all keepers together have to answer. People look at the list first when something is wrong.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long all places together have if they are waited for. A place has its own `reach`, too.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// Links only preselect; the job itself decides.
fn admits(filter: &Filter, job: &Job) -> bool {
    filter.select.admits(job) && filter.older_than.is_none_or(|age| is_older(job, age))
}

/// Whether the job ended longer ago than this, or has run for longer.
fn is_older(job: &Job, age: Duration) -> bool {
    let since = job.ended_at.or(job.started_at);
    let since = since.map(|at| WallTime::from_ms(at.unix_ms()));
    since.is_some_and(|since| clock::wall().since(since) > age)
}

/// The selected jobs of which something runs, also if the job itself has ended.
pub fn running(outlive: &Outlive, select: &Selector) -> Result<Vec<JobId>, Error> {
    let filter = Filter {
        select: select.clone(),
        limit: usize::MAX,
        ..Filter::default()
    };
    let live = live(outlive, &filter, &mut Listing::default())?;
    Ok(live.into_iter().map(|job| job.id).collect())
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
    let allowed = allowed(outlive, filter)?;
    let allows = |id: &JobId| allowed.as_ref().is_none_or(|allowed| allowed.contains(id));
    let mut running = live(outlive, filter, &mut listing)?;
    // These are still linked, because they have just ended or some of their processes still run.
    let mut ended: Vec<Job> = running.extract_if(.., |job| job.has_ended()).collect();
    let mut seen: HashSet<JobId> = HashSet::new();
    if filter.state != StateFilter::Running {
        seen.extend(running.iter().chain(&ended).map(|job| job.id.clone()));
    }
    if filter.state != StateFilter::Ended {
        // They are in the order of their ids. Only keys move while they are sorted, because a job has 1,000 bytes.
        running.sort_by_cached_key(|job| job.started_at);
        listing.jobs = running;
    }
    match filter.usage {
        true => show::add_usage(outlive, &mut listing.jobs),
        // Places tell it unasked.
        false => listing.jobs.iter_mut().for_each(|job| job.usage = None),
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

/// The ids that links preselect; `None` if they preselect nothing.
fn allowed(outlive: &Outlive, filter: &Filter) -> Result<Option<HashSet<JobId>>, Error> {
    let session = filter.select.session.as_ref();
    let ids = session.map(|session| outlive.session_ids(session));
    Ok(ids.transpose()?.map(|ids| ids.into_iter().collect()))
}

/// The jobs that run, and those that have just ended or have left processes behind.
fn live(outlive: &Outlive, filter: &Filter, listing: &mut Listing) -> Result<Vec<Job>, Error> {
    let allowed = allowed(outlive, filter)?;
    let mut live = outlive.live_ids()?;
    live.retain(|id| allowed.as_ref().is_none_or(|allowed| allowed.contains(id)));
    live.sort();
    let patience = if filter.fresh { FRESH } else { PATIENCE };
    let shown = show::show_all(outlive, &live, patience);
    let jobs = shown.into_iter().zip(&live);
    Ok(jobs
        .filter_map(|(job, id)| listing.take(id, job, filter))
        .collect())
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
