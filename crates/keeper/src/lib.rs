//! The keeper: supervises exactly one job.
//!
//! ```text
//!  launcher ─spawn─► (ends) ─fork─► standby (subreaper, asleep in wait)
//!                                     └─fork─► keeper (subreaper, asleep in poll)
//!                                                 └─fork─► leader (own session)
//! ```
//! The two processes share everything that a keeper needs and cannot create again: the job's lock, the reading end of
//! its feed, the listening control socket, and the gate through which its leader starts. When the keeper dies, the
//! standby becomes the keeper. It runs the same code as every keeper: read the journal and continue from there.
//!
//! | folder | owns |
//! |---|---|
//! | `pair` | the two processes: how they are created, and taking over |
//! | `start` | what a keeper begins with, and bringing the leader to its program |
//! | `supervise` | the loop, clients, stopping the job, recording its end |
//! | `output` | the job's output: reading, storing, indexing, copying |
//! | `input` | the job's input, and its terminal |
//! | `signs` | watched lines, readiness, silence, prompts |
//! | `errands` | processes that work for the keeper: doorbells, waiting for a lock |
//! | `tree` | which processes are the job's |
//! | `turns` | what a job waits for before it starts: other jobs, a queue, a lock |
//! | `clock` | the time |
//! | `hooks` | where tests can stop or kill a keeper |
#![forbid(unsafe_code)]

mod clock;
mod errands;
mod hooks;
mod input;
mod output;
mod pair;
mod signs;
mod start;
mod supervise;
mod tree;
mod turns;

use errands::lock_wait;
use outlive_core::JobDir;
use output::copying;
pub use pair::enter::run;
use pair::front;
use signs::probe;
pub use signs::watch;
use turns::line;

/// The whole program: one argument, the job directory. Returns the exit code.
///
/// With the second argument `foreground` it stays in the foreground (`front.rs`). Then it executes itself again with its
/// own pid as a third argument. A keeper starts it with an errand and the keeper's own pid as arguments.
pub fn main(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> i32 {
    let arguments: Vec<_> = arguments.into_iter().skip(1).collect();
    match arguments.as_slice() {
        [directory] => run(directory.as_ref()),
        [directory, manner, front @ ..] if manner == front::WORD => {
            front::run(directory.as_ref(), front)
        }
        [directory, errand, parent] => {
            let job = JobDir::at(directory.into());
            let parent = parent.to_str().and_then(|pid| pid.parse().ok());
            let done = match (errand.to_str(), parent) {
                (Some("turn"), Some(parent)) => lock_wait::wait(&job, parent),
                (Some("queue"), Some(parent)) => line::wait(&job, parent),
                (Some("probe"), Some(parent)) => probe::run(&job, parent),
                (Some(copying::WORD), Some(parent)) => copying::run(job, parent),
                _ => return 2,
            };
            i32::from(done.is_err())
        }
        _ => 2,
    }
}

/// The variable that marks every process of a job, and its keepers, with the job's directory.
pub const MARK: &str = "OUTLIVE_JOB_DIR";
