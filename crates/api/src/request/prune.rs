//! `prune`

use crate::request::Selector;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which ended jobs to remove. A selected job is removed if any of the other conditions holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Prune {
    /// Only jobs that this selects, as if there were no others. Then no posts are removed.
    #[serde(flatten)]
    pub select: Selector,
    /// Jobs that ended longer ago than this.
    #[serde(rename = "older_than_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub older_than: Option<Duration>,
    /// All jobs but the newest ones, this many.
    pub keep: Option<usize>,
    /// The oldest jobs, until the rest uses no more than this many bytes.
    pub max_size: Option<u64>,
    /// All that have ended.
    pub all: bool,
    /// Also jobs whose end was not told, and directories that cannot be read.
    pub force: bool,
}
