//! Phrases about what a job uses, and may use.

use outlive_api::job::Job;
use outlive_api::limits::{EnforcedBy, JobLimits};
use outlive_api::outcome::Usage;
use outlive_core::units::show_size;
use outlive_core::words::count;

/// What a job has used, or uses now.
pub fn usage(usage: &Usage) -> String {
    let mut parts = vec![format!("{} of CPU", cpu(usage))];
    // What one process had at most says nothing about a tree that is still running.
    let most = usage.peak_memory_bytes.map(show_size);
    parts.push(match (usage.memory_bytes.map(show_size), most) {
        (Some(now), Some(most)) => format!("{now} of memory now, {most} at most"),
        (Some(now), None) => format!("{now} of memory now"),
        (None, Some(most)) => format!("{most} of memory at most"),
        // Nothing counted the memory of all processes together.
        (None, None) => format!(
            "{} of memory at most in one process",
            show_size(usage.max_rss_bytes)
        ),
    });
    if let (Some(read), Some(written)) = (usage.read_bytes, usage.written_bytes) {
        let (read, written) = (show_size(read), show_size(written));
        parts.push(format!("{read} read, {written} written"));
    }
    parts.extend(
        usage
            .processes
            .map(|number| count(number.into(), "process")),
    );
    parts.join(", ")
}

/// The processor time that was used: `1.25 s`.
pub fn cpu(usage: &Usage) -> String {
    let ms = usage.user_ms + usage.system_ms;
    format!("{:.2} s", ms as f64 / 1000.0)
}

/// The limits of a job, and how they are enforced.
pub fn limits(job: &Job) -> Option<String> {
    let JobLimits { asked, enforced_by } = job.limits?;
    let parts = [
        asked
            .memory_bytes
            .map(|bytes| format!("{} of memory", show_size(bytes))),
        asked.cpus.map(|cpus| match f64::from(cpus) {
            1.0 => "1 processor".to_owned(),
            number => format!("{number} processors"),
        }),
        asked.pids.map(|number| count(number.into(), "process")),
        asked.nice.map(|nice| format!("nice {nice}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let by = match enforced_by {
        Some(EnforcedBy::CgroupV2) => " (by a control group, version 2)",
        Some(EnforcedBy::CgroupV1) => " (by control groups, version 1)",
        Some(EnforcedBy::Process) if asked.memory_bytes.is_some() => {
            " (memory: the address space of each process alone)"
        }
        Some(EnforcedBy::Process) | None => "",
    };
    Some(format!("{}{by}", parts.join(", ")))
}
