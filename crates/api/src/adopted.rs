//! A process that somebody else started and that became a job (`adopt`).

use crate::os_text::OsText;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What was known of the process when it was adopted. A process that runs already keeps the input and output that it
/// has, so Outlive can only say where they go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdoptedProcess {
    /// When the process was started. The job's own times count from the adoption.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub process_started_at: Timestamp,
    /// Where its standard output goes, which is not captured: a path, or the system's name for a pipe or socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<OsText>,
    /// Where its standard error goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<OsText>,
    /// Whether the system tells how it ends. If not, only the time of its end is known, and its outcome is `lost`.
    pub outcome_is_told: bool,
}
