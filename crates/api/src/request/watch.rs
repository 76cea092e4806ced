//! `watch` and `label`: changing what was asked for, while the job runs.

use crate::defaults::MAX_PATTERNS;
use crate::labels::{LabelKey, Labels};
use crate::notify::Notify;
use crate::request::BadSetting;
use crate::watch::Pattern;
use serde::{Deserialize, Serialize};

/// How to change what a running job is watched for, and of which ends its session is told.
///
/// Whatever is left out stays as it is. A repeated request changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ChangeWatch {
    /// Look for these too. A watch that has turned itself off, or has reached its limit, begins again.
    pub add: Vec<Pattern>,
    /// Look for these no more: patterns of any kind with this text.
    pub drop: Vec<String>,
    /// Look for nothing of what was looked for before, only for `add`.
    pub drop_all: bool,
    /// Stop watching after this many more matches; 0 for never.
    pub limit: Option<u64>,
    /// Of which ends the session is told.
    pub notify: Option<Notify>,
    /// Look for the patterns in `add` also in the output that is kept: in at most this many of its last bytes.
    /// What is found is told as one event.
    pub look_back: Option<u64>,
}

impl ChangeWatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        let nothing = ChangeWatch {
            look_back: self.look_back,
            ..ChangeWatch::default()
        };
        *self == nothing
    }

    /// Checks what no type rules out.
    pub fn check(&self) -> Result<(), BadSetting> {
        if self.add.len() > MAX_PATTERNS {
            return Err(BadSetting::Patterns(self.add.len()));
        }
        if self.add.iter().any(|pattern| pattern.source().is_empty()) {
            return Err(BadSetting::EmptyPattern);
        }
        match (self.look_back, self.add.is_empty()) {
            (Some(_), true) => Err(BadSetting::NothingToLookFor),
            _ => Ok(()),
        }
    }
}

/// How to change the labels of a job. It may have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ChangeLabels {
    /// Labels that it gets, or gets another value for.
    pub set: Labels,
    /// Labels that it loses. It is no error if it does not have them.
    pub remove: Vec<LabelKey>,
}

impl ChangeLabels {
    /// The labels after the change. A label that is both set and removed is set.
    pub fn apply(&self, to: &Labels) -> Labels {
        let mut labels = to.clone();
        labels.retain(|key, _| !self.remove.contains(key));
        labels.extend(self.set.clone());
        labels
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == ChangeLabels::default()
    }
}
