//! Which jobs a request is about, where it does not name them.

use crate::job::Job;
use crate::label::Label;
use crate::labels::{LabelFilter, Labels};
use serde::{Deserialize, Serialize};

/// Selects jobs: those for which all of this holds. An empty selector selects every job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Selector {
    /// Jobs of this session.
    pub session: Option<Label>,
    /// Jobs of this task.
    pub task: Option<Label>,
    /// Jobs with all of these labels.
    pub labels: Vec<LabelFilter>,
    /// Jobs that run at this place, as it was named at their start; `local` is here.
    pub place: Option<String>,
}

impl Selector {
    /// Whether this job is selected.
    pub fn admits(&self, job: &Job) -> bool {
        self.admits_marks(&job.session, &job.task, &job.details.labels, &job.place)
    }

    /// Whether a job with these marks is selected.
    pub fn admits_marks(
        &self,
        session: &Option<Label>,
        task: &Option<Label>,
        labels: &Labels,
        place: &str,
    ) -> bool {
        let same = |asked: &Option<Label>, has: &Option<Label>| asked.is_none() || asked == has;
        let mut wanted = self.labels.iter();
        let asked_place = self.place.as_deref();
        same(&self.session, session)
            && same(&self.task, task)
            && asked_place.is_none_or(|asked| asked == place)
            && wanted.all(|label| label.admits(labels))
    }

    /// Whether it selects every job.
    pub fn is_empty(&self) -> bool {
        *self == Selector::default()
    }
}
