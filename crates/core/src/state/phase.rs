//! Facts that follow from the phase alone.

use super::{Leader, Phase};

impl Phase {
    pub fn leader(&self) -> Option<&Leader> {
        match self {
            Phase::Unwritten | Phase::Accepted => None,
            Phase::Spawned(leader) | Phase::Running(leader) | Phase::Stopping(leader, _) => {
                Some(leader)
            }
            Phase::Ended { leader, .. } => leader.as_ref(),
        }
    }

    /// The word for this phase in the JSON interface.
    pub fn word(&self) -> &'static str {
        match self {
            Phase::Unwritten | Phase::Accepted | Phase::Spawned(_) => "starting",
            Phase::Running(_) => "running",
            Phase::Stopping(..) => "stopping",
            Phase::Ended { .. } => "ended",
        }
    }
}
