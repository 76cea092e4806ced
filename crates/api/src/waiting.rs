//! What a job waits for before it starts: a lock, its turn in a queue, the end of other jobs.

use crate::id::{BadId, JobId};
use crate::label::{BadLabel, Label};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most jobs of one queue that may run at once.
pub const MAX_WIDTH: u32 = 1000;

/// The queue that a job joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Its name.
    pub name: Label,
    /// How many of its jobs run at once from now on. Without it, as many as before; 1 in a new queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

/// A job that must end before another one starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct After {
    /// The job.
    pub job: JobId,
    /// How it must end.
    #[serde(default)]
    pub needs: Needs,
}

/// How a job must end so that another one may start after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// In any way.
    #[default]
    End,
    /// With exit code 0. Otherwise the other job is not started.
    Success,
}

/// Why the text of a queue was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadQueue {
    /// Its name cannot be used.
    #[error("the queue {text:?} cannot be used: {reason}")]
    Name {
        /// The name.
        text: String,
        /// Why it was refused.
        reason: BadLabel,
    },
    /// Its width is no number, or out of range.
    #[error(
        "{0:?} is not a width; write NAME or NAME:N, where N is a number from 1 to {MAX_WIDTH}"
    )]
    Width(String),
}

/// Why the text of a job to start after was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadAfter {
    /// It does not begin with an id.
    #[error(transparent)]
    Id(#[from] BadId),
    /// What follows the id is unknown.
    #[error("{0:?} is not known here; write ID or ID:success")]
    Needs(String),
}

impl Queue {
    /// Parses `NAME` or `NAME:N`.
    pub fn parse(text: &str) -> Result<Queue, BadQueue> {
        let (name, width) = match text.rsplit_once(':') {
            None => (text, None),
            Some((name, width)) => match width.parse() {
                Ok(number) => (name, Some(number)),
                Err(_) => return Err(BadQueue::Width(width.to_owned())),
            },
        };
        let name = Label::parse(name).map_err(|reason| BadQueue::Name {
            text: name.to_owned(),
            reason,
        })?;
        let queue = Queue { name, width };
        queue.check().map(|()| queue)
    }

    /// Checks a queue that was not parsed from its text.
    pub fn check(&self) -> Result<(), BadQueue> {
        match self.width {
            Some(width) if !(1..=MAX_WIDTH).contains(&width) => {
                Err(BadQueue::Width(width.to_string()))
            }
            _ => Ok(()),
        }
    }
}

impl Needs {
    /// Splits `JOB` or `JOB:success`. What names the job is not checked: it may be an id, the beginning of one, or a
    /// name.
    pub fn split(text: &str) -> Result<(&str, Needs), BadAfter> {
        match text.rsplit_once(':') {
            None => Ok((text, Needs::End)),
            Some((job, "success")) => Ok((job, Needs::Success)),
            Some((_, other)) => Err(BadAfter::Needs(other.to_owned())),
        }
    }
}

impl After {
    /// Parses `ID` or `ID:success`.
    pub fn parse(text: &str) -> Result<After, BadAfter> {
        let (job, needs) = Needs::split(text)?;
        let job = JobId::parse(job)?;
        Ok(After { job, needs })
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.needs {
            Needs::End => write!(f, "{}", self.job),
            Needs::Success => write!(f, "{}:success", self.job),
        }
    }
}

/// What a job waits for now. It waits for other jobs first, then for its turn in a queue, then for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum WaitingFor {
    /// A lock that another job has.
    Lock {
        /// The name of the lock.
        lock: Label,
        /// The job that has it, if that is known.
        holder: Option<JobId>,
    },
    /// Its turn in a queue.
    Queue {
        /// The name of the queue.
        queue: Label,
        /// Its place among the jobs that wait there; 1 is next.
        position: u32,
        /// How many jobs of the queue run at once.
        width: u32,
    },
    /// The end of other jobs.
    After {
        /// Those that have not ended yet.
        after: Vec<JobId>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_a_name_and_perhaps_a_width() {
        let parsed =
            |text: &str| Queue::parse(text).map(|queue| (queue.name.to_string(), queue.width));
        assert_eq!(parsed("gpu"), Ok(("gpu".to_owned(), None)));
        assert_eq!(parsed("gpu:3"), Ok(("gpu".to_owned(), Some(3))));
        assert_eq!(parsed("a:b:1000"), Ok(("a:b".to_owned(), Some(1000))));
        for bad in ["gpu:0", "gpu:1001", "gpu:", "gpu:x", "gpu:-1"] {
            assert!(matches!(parsed(bad), Err(BadQueue::Width(_))), "{bad}");
        }
        assert!(matches!(parsed(":3"), Err(BadQueue::Name { .. })));
    }

    #[test]
    fn an_after_is_an_id_and_perhaps_success() -> Result<(), BadAfter> {
        assert_eq!(After::parse("build")?.needs, Needs::End);
        let strict = After::parse("build:success")?;
        assert_eq!(
            (strict.job.as_str(), strict.needs),
            ("build", Needs::Success)
        );
        assert_eq!(strict.to_string(), "build:success");
        let failed = After::parse("build:failure");
        assert_eq!(failed, Err(BadAfter::Needs("failure".to_owned())));
        assert!(matches!(After::parse(":success"), Err(BadAfter::Id(_))));
        Ok(())
    }
}
