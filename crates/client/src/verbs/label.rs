//! Changes the labels of a job, whether it runs or has ended.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::changing;
use crate::verbs::show;
use outlive_api::job::Job;
pub use outlive_api::request::{ChangeLabels, ChangeWatch};
use outlive_core::JobId;
use outlive_core::control::Change;
use outlive_core::watch::Watch;

/// Changes the labels of a job, and returns the job as it is then.
pub fn label(outlive: &Outlive, id: &JobId, asked: &ChangeLabels) -> Result<Job, Error> {
    if !asked.is_empty() {
        let change = Change {
            watch: ChangeWatch::default(),
            usual: Watch::for_patterns(Vec::new()),
            labels: asked.clone(),
            session: outlive.calling_session().cloned(),
        };
        changing::change(outlive, id, &change)?;
    }
    show::show(outlive, id)
}
