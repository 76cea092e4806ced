//! Who has looked at which job, and what was to be seen: to tell an agent that polls that there is
//! nothing new. Only a courtesy, so it is kept in memory, and not for ever.

use outlive::{Job, JobId, JobState, Label};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More than anybody looks at in turn.
const MOST: usize = 256;

/// What a look shows of a running job, but for the time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sight {
    state: JobState,
    bytes: u64,
    matches: Option<u64>,
    ready: Option<bool>,
    awaiting_input: Option<bool>,
}

#[derive(Debug, Default)]
pub struct Glances(Mutex<HashMap<(Label, JobId), (Sight, Instant)>>);

impl Glances {
    /// Notes a look; says how long ago the last one was, if that showed the same of a job that runs.
    pub fn look(&self, session: &Label, job: &Job) -> Option<Duration> {
        let sight = Sight {
            state: job.state,
            bytes: job.output.bytes,
            matches: job.matches,
            ready: job.ready,
            awaiting_input: job.awaiting_input,
        };
        let mut glances = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if glances.len() >= MOST {
            glances.clear();
        }
        let key = (session.clone(), job.id.clone());
        let last = glances.insert(key, (sight.clone(), Instant::now()));
        last.filter(|(last, _)| *last == sight && !job.has_ended())
            .map(|(_, at)| at.elapsed())
    }
}
