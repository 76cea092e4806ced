//! What a keeper must be allowed to use. With less, a job is refused before it is started.

use crate::spec::{Input, Spec};
use crate::words;

/// With fewer a job could be started and then not be looked after.
const FEWEST_FILES: usize = 32;
/// With less a job's journal could not be written to its end.
const SMALLEST_FILE: u64 = 1 << 20;
/// And a job that is talked to needs these.
const CHANNEL_FILES: usize = 8;
/// And one that something else is to be done for, these.
const ERRAND_FILES: usize = 8;

/// How many files the keeper of a job must be allowed to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files(pub usize);

impl Files {
    /// For a job that is neither talked to nor has anything else done for it.
    pub const PLAIN: Files = Files(FEWEST_FILES);
    /// For any job.
    pub const ANY: Files = Files(FEWEST_FILES + CHANNEL_FILES + ERRAND_FILES);

    pub fn of(spec: &Spec) -> Files {
        let channel = match spec.input {
            Input::Null => 0,
            Input::Pipe | Input::Pty(_) => CHANNEL_FILES,
        };
        let helped = spec.watch.is_some() || spec.ready.is_some() || spec.lock.is_some();
        let errands = match helped || !spec.doorbells.is_empty() {
            true => ERRAND_FILES,
            false => 0,
        };
        Files(FEWEST_FILES + channel + errands)
    }
}

/// Why a keeper that may open so many files, and write files of so many bytes, cannot keep a job that needs these.
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
