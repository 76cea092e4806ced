//! A wait that does not sleep: whoever owns it tells it which job has news.

use super::{Awaited, Reservation, Wait, WaitFor, Waited, receipt, release_untold};
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::Event;
use crate::jobs::hold::Hold;
use crate::listening::Wanted;
use crate::verbs::show;
use outlive_api::job::Job;
use outlive_api::request::Until;
use outlive_core::{BootTime, JobId, State};
use std::collections::HashMap;
use std::time::Duration;

/// How long the keepers have to report details of jobs that have not ended in time.
const PATIENCE: Duration = Duration::from_millis(300);

/// A wait that is under way.
#[derive(Debug)]
pub struct Waiting {
    pub(super) outlive: Outlive,
    ids: Vec<JobId>,
    how: Wait,
    deadline: Option<BootTime>,
    known: HashMap<JobId, Known>,
    reserved: Vec<Reservation>,
    _holds: Vec<Option<Hold>>,
}

/// What is known of one of the jobs.
#[derive(Debug)]
enum Known {
    Ended,
    /// The awaited event has happened.
    Met(Vec<Event>),
}

impl Waiting {
    /// Begins to wait. The ends of this many of the jobs are reserved for the answer, and these jobs are protected from
    /// pruning until then: two descriptors for each.
    pub fn begin(outlive: &Outlive, ids: &[JobId], how: Wait, reserved: usize) -> Waiting {
        let some = || ids.iter().take(reserved);
        Waiting {
            outlive: outlive.clone(),
            ids: ids.to_vec(),
            how,
            deadline: how.timeout.map(|timeout| clock::boot() + timeout),
            known: HashMap::new(),
            reserved: some()
                .filter_map(|id| Reservation::of(outlive, id, how.what.tells()))
                .collect(),
            _holds: some().map(|id| Hold::on(&outlive.job_dir(id))).collect(),
        }
    }

    /// Looks at one of the jobs, which has this state. Returns the news that it waits for, unless it has come.
    pub fn look(&mut self, id: &JobId, state: &State) -> Result<Option<Wanted>, Error> {
        if self.known.contains_key(id) {
            return Ok(None);
        }
        let what = self.how.what;
        let has_ended = state.end().is_some();
        let found = match what {
            WaitFor::End | WaitFor::Input if has_ended => Some(Known::Ended),
            _ => {
                // Do not wait either for an event that could not be told in the end.
                what.refuse_unasked(&self.outlive.read_spec(id)?, state)?;
                match what.has_come(&self.outlive, id, state)? {
                    Some(events) => Some(Known::Met(events)),
                    None if has_ended => Some(Known::Ended),
                    None => None,
                }
            }
        };
        if let Some(found) = found {
            self.known.insert(id.clone(), found);
            return Ok(None);
        }
        Ok(Some(Wanted {
            input: what == WaitFor::Input,
            ..Wanted::events_after(state.seq)
        }))
    }

    /// A process of this job waits for input.
    pub fn input_awaited(&mut self, id: &JobId) {
        if self.how.what == WaitFor::Input {
            let met = Known::Met(Vec::new());
            self.known.entry(id.clone()).or_insert(met);
        }
    }

    /// Whether it can be answered.
    pub fn is_over(&self) -> bool {
        self.is_enough() || self.is_out_of_time()
    }

    fn is_enough(&self) -> bool {
        let mut known = self.ids.iter().map(|id| self.known.contains_key(id));
        match self.how.until {
            Until::All => known.all(|known| known),
            Until::Any => self.ids.is_empty() || known.any(|known| known),
        }
    }

    /// Whether the time is up.
    pub fn is_out_of_time(&self) -> bool {
        self.deadline.is_some_and(|at| clock::boot() >= at)
    }

    /// When the time is up.
    pub fn deadline(&self) -> Option<BootTime> {
        self.deadline
    }

    /// The jobs that it waits for.
    pub fn ids(&self) -> &[JobId] {
        &self.ids
    }

    pub(super) fn jobs(&self) -> usize {
        self.ids.len()
    }

    /// The answer. Keepers that do not answer delay it for a moment.
    pub fn finish(mut self) -> Result<Waited, Error> {
        let out_of_time = !self.is_enough();
        let jobs = show::show_all(&self.outlive, &self.ids, PATIENCE);
        let jobs = jobs.into_iter().collect::<Result<Vec<Job>, Error>>()?;
        let met = |id| matches!(self.known.get(id), Some(Known::Met(_)));
        let met: Vec<bool> = self.ids.iter().map(met).collect();
        let mut events = Vec::new();
        for id in &self.ids {
            if let Some(Known::Met(came)) = self.known.remove(id) {
                events.extend(came);
            }
        }
        let what = self.how.what;
        release_untold(&self.reserved, what, &jobs, &met);
        let receipt = receipt(&self.outlive, what, &jobs, &met, &events).reserving(self.reserved);
        Ok(Waited {
            jobs,
            met,
            events,
            out_of_time,
            receipt,
        })
    }
}
