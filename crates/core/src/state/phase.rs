//! Facts that follow from the phase alone.

use super::{Leader, Phase};
use outlive_api::job::JobState;

impl Phase {
    pub fn leader(&self) -> Option<&Leader> {
        match self {
            Phase::Unwritten | Phase::Accepted | Phase::Backoff { .. } => None,
            Phase::Spawned(leader) | Phase::Running(leader) | Phase::Stopping(leader, _) => {
                Some(leader)
            }
            Phase::Ended { leader, .. } => leader.as_ref(),
        }
    }

    /// The leader that the journal names last. It has ended if the job waits for its next attempt.
    pub fn last_leader(&self) -> Option<&Leader> {
        match self {
            Phase::Backoff { last, .. } => Some(last),
            phase => phase.leader(),
        }
    }

    /// The state of the job, as far as the journal tells.
    pub fn job_state(&self) -> JobState {
        match self {
            Phase::Unwritten | Phase::Accepted | Phase::Spawned(_) => JobState::Starting,
            Phase::Running(_) => JobState::Running,
            Phase::Backoff { .. } => JobState::Waiting,
            Phase::Stopping(..) => JobState::Stopping,
            Phase::Ended { .. } => JobState::Ended,
        }
    }
}
