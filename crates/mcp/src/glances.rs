//! Remembers who has looked at which job and what they saw, to tell an agent that polls that nothing is
//! new. It is only a courtesy, so it stays in memory and is bounded.

use outlive::{Job, JobId, JobState, Label};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More jobs than anybody looks at in turn.
const MAX_LOOKS: usize = 256;

/// What a look shows of a running job, except the time.
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
    /// Records a look. Returns the time since the last one, if the job runs and looked the same.
    pub fn look(&self, session: &Label, job: &Job) -> Option<Duration> {
        let sight = Sight {
            state: job.state,
            bytes: job.output.bytes,
            matches: job.matches,
            ready: job.ready,
            awaiting_input: job.awaiting_input,
        };
        let mut glances = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if glances.len() >= MAX_LOOKS {
            glances.clear();
        }
        let key = (session.clone(), job.id.clone());
        let last = glances.insert(key, (sight.clone(), Instant::now()));
        last.filter(|(last, _)| *last == sight && !job.has_ended())
            .map(|(_, at)| at.elapsed())
    }
}
