//! `list`

use crate::defaults::LIST_ENDED;
use crate::request::Selector;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which jobs to list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only jobs that this selects.
    #[serde(flatten)]
    pub select: Selector,
    /// Only jobs in this state.
    pub state: StateFilter,
    /// At most this many ended ones.
    pub limit: usize,
    /// Only jobs that ended longer ago than this, and running ones that were started longer ago.
    #[serde(rename = "older_than_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub older_than: Option<Duration>,
    /// With what running jobs use now.
    pub usage: bool,
    /// Wait until each place has told how its jobs are, or cannot be reached. Otherwise a place has a moment for that.
    pub fresh: bool,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            select: Selector::default(),
            state: StateFilter::All,
            limit: LIST_ENDED,
            older_than: None,
            usage: false,
            fresh: false,
        }
    }
}

/// The states of the jobs to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateFilter {
    /// Jobs that run.
    Running,
    /// Jobs that have ended.
    Ended,
    /// Both.
    #[default]
    All,
}
