//! What marks a job for people and programs, and changes nothing about how it runs.

use super::{BadSetting, Run};
use crate::labels;

impl Run {
    /// Adds a label. One that cannot be used is refused when the job is started.
    #[must_use]
    pub fn labeled(mut self, key: &str, value: &str) -> Run {
        match labels::parse_pair(&format!("{key}={value}")) {
            Ok((key, value)) => drop(self.labels.insert(key, value)),
            Err(reason) => self.refused = Some(BadSetting::Labels(reason)),
        }
        self
    }

    /// The command as it is shown, in place of the real one.
    #[must_use]
    pub fn shown_as(mut self, text: impl Into<String>) -> Run {
        self.shown_as = Some(text.into());
        self
    }
}
