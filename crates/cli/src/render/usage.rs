//! What jobs use, as tables and lines.

use super::aligned;
use outlive::Job;
use outlive::api::usage::UsageSample;
use outlive::units::show_size;
use outlive::words::{self, cut, one_line};

/// A table of jobs with what they use.
pub fn usage_table(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let heads = [
        "ID", "STATE", "TIME", "CPU", "MEMORY", "PEAK", "READ", "WRITTEN", "PROCS", "NAME",
        "COMMAND",
    ];
    let rows = jobs.iter().map(|job| {
        let usage = job.usage;
        let size = |bytes: Option<u64>| bytes.map_or_else(none, show_size);
        vec![
            job.id.to_string(),
            cut(&one_line(&words::short_state(job)), 48),
            words::duration(job),
            usage.as_ref().map_or_else(none, words::cpu),
            size(usage.and_then(|usage| usage.memory_bytes)),
            size(usage.and_then(|usage| usage.peak_memory_bytes)),
            size(usage.and_then(|usage| usage.read_bytes)),
            size(usage.and_then(|usage| usage.written_bytes)),
            usage
                .and_then(|usage| usage.processes)
                .map_or_else(none, |number| number.to_string()),
            job.name.as_ref().map_or_else(none, ToString::to_string),
            cut(&one_line(&job.command), 60),
        ]
    });
    aligned(&heads, rows.collect()).concat()
}

fn none() -> String {
    "-".to_owned()
}

/// One line of a stream of usage.
pub fn sample(sample: &UsageSample) -> String {
    let usage = sample.usage.as_ref();
    let words = usage.map_or_else(|| "not known".to_owned(), words::usage);
    format!("{} {}: {words}\n", sample.at, sample.state)
}
