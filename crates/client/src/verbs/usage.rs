//! What a job uses, again and again until it ends. This is the only place that looks at a job in intervals, and it does
//! so only while somebody asks for it.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::verbs::show;
use crate::verbs::wait::{self, Wait};
use outlive_api::job::Job;
use outlive_api::usage::UsageSample;
use outlive_core::JobId;
use std::time::Duration;

/// The usage of one job at regular intervals.
#[derive(Clone, Debug)]
pub struct Samples {
    outlive: Outlive,
    id: JobId,
    every: Duration,
    next: Next,
}

/// When the next sample is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Now,
    AfterInterval,
    /// The last sample was that of the end.
    Never,
}

/// The shortest interval. Each sample reads a few files for each process.
const SHORTEST: Duration = Duration::from_millis(10);

impl Samples {
    /// The first one at once, then one each interval, and one at the end.
    pub fn of(outlive: &Outlive, id: &JobId, every: Duration) -> Samples {
        Samples {
            // Waiting for the end does not count as being told of it.
            outlive: outlive.clone().only_looking(),
            id: id.clone(),
            every: every.max(SHORTEST),
            next: Next::Now,
        }
    }

    /// Waits for the next sample. `None` after the one that shows the end.
    pub fn next_sample(&mut self) -> Result<Option<UsageSample>, Error> {
        match self.next {
            Next::Never => return Ok(None),
            Next::Now => {}
            Next::AfterInterval => self.wait()?,
        }
        let job = show::with_usage(&self.outlive, &self.id)?;
        self.next = match job.has_ended() {
            true => Next::Never,
            false => Next::AfterInterval,
        };
        Ok(Some(sample(job)))
    }

    fn wait(&self) -> Result<(), Error> {
        let how = Wait {
            timeout: Some(self.every),
            ..Wait::default()
        };
        wait::wait(&self.outlive, std::slice::from_ref(&self.id), how).map(drop)
    }
}

fn sample(job: Job) -> UsageSample {
    UsageSample {
        id: job.id,
        at: clock::wall().into(),
        state: job.state,
        usage: job.usage,
    }
}
