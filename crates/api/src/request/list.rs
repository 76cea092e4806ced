//! `list`

use crate::defaults::LIST_ENDED;
use crate::label::Label;
use serde::{Deserialize, Serialize};

/// Which jobs to list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only jobs of this session.
    pub session: Option<Label>,
    /// Only jobs of this task.
    pub task: Option<Label>,
    /// Only jobs in this state.
    pub state: StateFilter,
    /// At most this many ended ones.
    pub limit: usize,
    /// With what running jobs use now.
    pub usage: bool,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            session: None,
            task: None,
            state: StateFilter::All,
            limit: LIST_ENDED,
            usage: false,
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
