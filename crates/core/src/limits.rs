//! The resource limits that a keeper needs. If a limit is lower, the job is refused before it starts.

use crate::spec::{Input, Spec};
use crate::words;

/// With fewer open files, a job could start but its keeper could not look after it.
const FEWEST_FILES: usize = 32;
/// With a smaller limit, a job's journal could not be written to the end.
const SMALLEST_FILE: u64 = 1 << 20;
/// A job with input needs these in addition.
const CHANNEL_FILES: usize = 8;
/// A job with split streams needs these in addition.
const SPLIT_FILES: usize = 4;
/// A job with a watch, a readiness sign, a lock, a queue, others to wait for, or doorbells needs these in addition.
const ERRAND_FILES: usize = 8;

/// The number of files that a keeper must be allowed to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files(pub usize);

impl Files {
    /// For a job without input, watch, readiness sign, lock and doorbells.
    pub const PLAIN: Files = Files(FEWEST_FILES);
    /// For any job.
    pub const ANY: Files = Files(FEWEST_FILES + CHANNEL_FILES + ERRAND_FILES + SPLIT_FILES);

    pub fn of(spec: &Spec) -> Files {
        let channel = match spec.input {
            Input::Null => 0,
            Input::Pipe | Input::Pty(_) => CHANNEL_FILES,
        };
        let helped = spec.watch.is_some() || spec.ready.is_some() || spec.may_wait();
        let errands = match helped || !spec.doorbells.is_empty() {
            true => ERRAND_FILES,
            false => 0,
        };
        let split = match spec.streams.is_merged() {
            true => 0,
            false => SPLIT_FILES,
        };
        Files(FEWEST_FILES + channel + errands + split)
    }
}

/// Why a keeper with these limits cannot keep a job that needs `needed` open files; `None` if it can.
pub fn refusal(needed: Files, open_files: usize, file_size: u64) -> Option<String> {
    if file_size < SMALLEST_FILE {
        return Some(format!(
            "files may be {} long here; `ulimit -f` must allow {SMALLEST_FILE} bytes at least",
            words::count(file_size, "byte")
        ));
    }
    (open_files < needed.0).then(|| {
        format!(
            "too few files may be open here; `ulimit -n` must be {} at least",
            needed.0
        )
    })
}
