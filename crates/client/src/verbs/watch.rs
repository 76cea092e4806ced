//! Changes what a running job is watched for, and of which ends its session is told.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::changing;
use crate::verbs::run;
use crate::verbs::show;
use outlive_api::job::Job;
pub use outlive_api::request::ChangeWatch;
use outlive_core::control::Change;
use outlive_core::defaults::milliseconds;
use outlive_core::watch::Watch;
use outlive_core::{JobId, change::ChangeLabels};

/// Changes the watch of a running job, and returns the job as it is then.
pub fn watch(outlive: &Outlive, id: &JobId, asked: &ChangeWatch) -> Result<Job, Error> {
    asked.check()?;
    run::refuse_regexes(&asked.add)?;
    if asked.is_empty() {
        return show::show(outlive, id);
    }
    if !asked.add.is_empty() && outlive.read_spec(id)?.adopted.is_some() {
        return Err(Error::Refused {
            id: id.clone(),
            reason: "its output goes elsewhere, so there is nothing to watch",
        });
    }
    let config = outlive.config()?.watch;
    let usual = Watch {
        spacing_ms: milliseconds(config.spacing),
        strikes: config.strikes,
        ..Watch::for_patterns(Vec::new())
    };
    let change = Change {
        watch: asked.clone(),
        usual,
        labels: ChangeLabels::default(),
        session: outlive.calling_session().cloned(),
    };
    changing::change(outlive, id, &change)?;
    show::show(outlive, id)
}
