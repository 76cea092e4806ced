//! The context of a tool call: the home on behalf of the calling session, and how long the call may
//! take.

use crate::glances::Glances;
use crate::reply::Refused;
use crate::tasks::PolledTasks;
use outlive::inbox::Inbox;
use outlive::units::MAX_DURATION;
use outlive::verbs::list::{self, Filter, Selector};
use outlive::verbs::show;
use outlive::{Error, Job, JobId, Label, LabelFilter, Outlive};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// The time between two progress messages of a waiting call, unless the client waits for less than four
/// of these. Clients give up after about a minute without one.
const PROGRESS: Duration = Duration::from_secs(10);

/// Which jobs a call may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Session,
    Everything,
}

/// One call of a tool.
#[derive(Debug)]
pub struct Call {
    /// The home, on behalf of the session.
    pub outlive: Outlive,
    pub session: Label,
    /// The session exists only as long as this server.
    pub is_made: bool,
    /// The agent's hooks tell the events of this session.
    pub has_hooks: bool,
    pub scope: Scope,
    /// Identifies this call. A client that repeats the call sends the same one.
    pub id: Option<String>,
    /// The inbox of the session.
    pub inbox: Inbox,
    pub glances: Arc<Glances>,
    pub tasks: Arc<PolledTasks>,
    pub patience: Patience,
}

/// How long a call may take, and how it reports progress.
#[derive(Debug)]
pub struct Patience {
    pub most: Duration,
    /// Cancelled when the client no longer wants the answer.
    pub cancelled: CancellationToken,
    pub progress: Option<Progress>,
}

/// Where a client wants progress messages.
#[derive(Debug)]
pub struct Progress {
    pub peer: Peer<RoleServer>,
    pub token: ProgressToken,
    /// The server's runtime, for the threads that wait.
    pub runtime: Handle,
}

impl Call {
    /// Finds a job among those that this call may see. A job of another session counts as missing.
    pub fn find(&self, text: &str) -> Result<JobId, Refused> {
        match (self.scope, self.outlive.find(text)) {
            (Scope::Everything, _) => Ok(self.outlive.find_of_any_session(text)?),
            (Scope::Session, Ok(id)) if self.is_own(&id)? => Ok(id),
            // The id of another session's job may begin with the same letters.
            (Scope::Session, _) => self.find_among_own(text),
        }
    }

    /// Finds several jobs, each once.
    pub fn find_all(&self, texts: &[String]) -> Result<Vec<JobId>, Refused> {
        let found = texts.iter().map(|text| self.find(text));
        let mut ids = found.collect::<Result<Vec<JobId>, Refused>>()?;
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        Ok(ids)
    }

    fn is_own(&self, id: &JobId) -> Result<bool, Error> {
        let job = show::show(&self.outlive, id)?;
        Ok(job.session.as_ref() == Some(&self.session))
    }

    fn find_among_own(&self, text: &str) -> Result<JobId, Refused> {
        let mut own = self.list(list::StateFilter::All, usize::MAX)?;
        own.sort_by_key(|job| std::cmp::Reverse(job.started_at));
        let is_called = |job: &&Job| job.name.as_ref().is_some_and(|name| name.as_str() == text);
        if let Some(named) = own.iter().find(is_called) {
            return Ok(named.id.clone());
        }
        let begins = |job: &Job| !text.is_empty() && job.id.as_str().starts_with(text);
        let mut candidates: Vec<JobId> = own.into_iter().filter(begins).map(|job| job.id).collect();
        match candidates.len() {
            0 => Err(Refused::no_such_job(text)),
            1 => Ok(candidates.remove(0)),
            _ => Err(Error::Ambiguous {
                text: text.to_owned(),
                candidates,
            }
            .into()),
        }
    }

    /// The jobs that this call may see.
    pub fn list(&self, state: list::StateFilter, limit: usize) -> Result<Vec<Job>, Error> {
        self.list_with(state, limit, Vec::new())
    }

    /// Those of them with all of these labels.
    pub fn list_with(
        &self,
        state: list::StateFilter,
        limit: usize,
        labels: Vec<LabelFilter>,
    ) -> Result<Vec<Job>, Error> {
        let filter = Filter {
            select: Selector {
                session: match self.scope {
                    Scope::Session => Some(self.session.clone()),
                    Scope::Everything => None,
                },
                labels,
                ..Selector::default()
            },
            state,
            limit,
            ..Filter::default()
        };
        Ok(list::list(&self.outlive, &filter)?.jobs)
    }
}

impl Patience {
    /// How long to wait if the caller wants to wait this long.
    pub fn within(&self, asked: Option<Duration>) -> Duration {
        asked.map_or(self.most, |asked| asked.min(self.most))
    }

    /// Waits in intervals and reports progress between them, until `wait` returns something or the time
    /// is up. `wait` gets the length of an interval.
    pub fn stretches<T>(
        &self,
        limit: Duration,
        what: &str,
        mut wait: impl FnMut(Duration) -> Result<(T, WaitResult), Error>,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            let (brought, come) = wait(left.min(PROGRESS).min(self.most / 4))?;
            let is_over = begun.elapsed() >= limit || self.cancelled.is_cancelled();
            if come == WaitResult::Yes || is_over {
                return Ok(brought);
            }
            self.say(begun.elapsed(), limit, what);
        }
    }

    fn say(&self, elapsed: Duration, limit: Duration, what: &str) {
        let Some(progress) = &self.progress else {
            return;
        };
        let message = format!("{what} ({} s)", elapsed.as_secs());
        let param = ProgressNotificationParam::new(progress.token.clone(), elapsed.as_secs_f64())
            .with_total(limit.as_secs_f64())
            .with_message(message);
        // If this fails, the client is gone, which the server notices by itself.
        let _ = progress
            .runtime
            .block_on(progress.peer.notify_progress(param));
    }
}

/// Whether the awaited event has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitResult {
    Yes,
    NotYet,
}

/// Parses a number of seconds from outside.
pub fn seconds(what: &str, asked: Option<f64>) -> Result<Option<Duration>, Refused> {
    let Some(seconds) = asked else {
        return Ok(None);
    };
    match Duration::try_from_secs_f64(seconds) {
        // A larger number would overflow and become a short time in milliseconds.
        Ok(time) if time <= MAX_DURATION => Ok(Some(time)),
        _ => Err(Refused::bad_input(format!(
            "{what} is a number of seconds, at most ten thousand years of them, not {seconds}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_too_long_is_refused_and_never_becomes_a_short_one() {
        let taken = |asked| seconds("timeout_seconds", Some(asked)).ok().flatten();
        assert_eq!(taken(1.5), Some(Duration::from_millis(1500)));
        assert_eq!(taken(0.0), Some(Duration::ZERO));
        // In milliseconds, this is a little more than 2^64.
        for bad in [18_446_744_073_709_552.0, 1e300, -1.0, f64::NAN] {
            assert_eq!(taken(bad), None, "{bad}");
        }
    }
}
