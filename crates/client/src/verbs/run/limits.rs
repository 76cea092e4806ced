//! What a caller must know about the limits of a job that was started.

use outlive_api::job::Job;
use outlive_api::limits::EnforcedBy;

/// How the limits differ from what was asked for, if they do.
pub fn note(job: &Job) -> Option<String> {
    let limits = job.limits.filter(|_| !job.has_ended())?;
    limits.asked.memory_bytes?;
    (limits.enforced_by == Some(EnforcedBy::Process)).then(|| {
        "no control group can be made here, so the limit of memory holds for the address space of each process alone: \
         a process that wants more gets an error"
            .to_owned()
    })
}
