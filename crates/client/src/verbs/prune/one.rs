//! Removes one job, with the same checks and locks as all others.

use super::{CLEARING_UP_TAKES, Pass, Pruned, read};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::hold::{self, Removable};
use crate::moment;
use outlive_api::request::Prune;
use outlive_core::JobId;

/// Removes a job that is over and whose session was told everything. Returns why it is not removed, if so. A job that
/// is not there counts as removed.
pub(crate) fn remove(outlive: &Outlive, id: &JobId) -> Result<Option<String>, Error> {
    let asked = Prune::default();
    let pass = Pass {
        asked: &asked,
        rules: outlive.config()?.inbox.rules(),
        patience: CLEARING_UP_TAKES,
    };
    let job = match read(outlive, id, &moment::when()?, &asked.select) {
        Ok(Some(job)) => job,
        Ok(None) => return Ok(Some("it is not over".to_owned())),
        Err(error) if error.is_no_such_job() => return Ok(None),
        Err(error) => return Err(error),
    };
    if job.rings {
        return Ok(Some("one of its doorbells still has to ring".to_owned()));
    }
    let unheld = match hold::removable(&outlive.job_dir(id)) {
        Removable::SomebodyWaits => return Ok(Some("somebody waits for it".to_owned())),
        Removable::IsRemoved => return Ok(None),
        Removable::Yes(lock) => lock,
    };
    let mut pruned = Pruned::default();
    pruned.remove(outlive, id.clone(), Some(job.spec), &pass, unheld);
    let failed = pruned.failed.pop().map(|(_, reason)| reason);
    Ok(failed.or_else(|| {
        let reason = match (pruned.untold.is_empty(), pruned.busy.is_empty()) {
            (false, _) => "its news was not acknowledged",
            (_, false) => "its keeper still runs",
            (true, true) => return None,
        };
        Some(reason.to_owned())
    }))
}
