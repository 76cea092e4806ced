//! What a job uses at one moment.

use crate::id::JobId;
use crate::job::JobState;
use crate::outcome::Usage;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One line of a stream of usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageSample {
    /// The job.
    pub id: JobId,
    /// When it was looked at.
    pub at: Timestamp,
    /// The state of the job then.
    pub state: JobState,
    /// What it uses, or what it has used if it has ended. Absent if that is not known.
    pub usage: Option<Usage>,
}
