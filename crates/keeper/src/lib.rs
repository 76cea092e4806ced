//! The keeper: supervises exactly one job.
//!
//! ```text
//!  launcher ─spawn─► standby (subreaper, asleep in wait)
//!                       └─fork─► keeper (subreaper, asleep in poll)
//!                                   └─fork─► leader (own session)
//! ```
//! The two share everything a keeper needs and cannot make again: the job's lock, the reading end of
//! its feed, the listening control socket, the gate its leader starts through. When the keeper dies
//! the standby becomes the keeper by the same code that serves every keeper: read the journal, go on
//! from there.
//!
//! | module | owns |
//! |---|---|
//! | [`pair`] | how the two processes come about, and taking over |
//! | [`standby`] | the one that sleeps until the other is gone |
//! | [`company`] | making a new standby where there is none |
//! | [`shared`] | what both hold |
//! | [`front`] | the foreground manner: for batch engines, and as the first process of a container |
//! | [`copying`] | copying the output to standard output, in the foreground manner |
//! | [`keeper`] | the loop: every source becomes a [`wake::Wake`], handled in order |
//! | [`tools`] | what a keeper begins with |
//! | [`serving`] | answering those who are connected |
//! | [`wake`] | what a keeper sleeps on |
//! | [`start`] | bringing the leader to its program |
//! | [`taking`] | taking the output, a stride at a time |
//! | [`capture`] | the job's output, byte for byte |
//! | [`flow`] | how much of it gathers before it is taken |
//! | [`store`] | the files it goes to, and giving back its middle |
//! | [`indexing`] | marks at lines and moments of the output |
//! | [`watch`] | looking for patterns in the output |
//! | [`signs`], [`noticing`] | lines that are watched for, readiness, silence, prompts |
//! | [`watch`] | finding lines, and how often they are told |
//! | [`channel`] | the job's input, and its terminal |
//! | [`spool`] | input accepted and not delivered yet |
//! | [`typing`] | typing into a terminal so that nothing is cut |
//! | [`input`] | serving writes, in turn |
//! | [`awaiting`] | whether the job waits for input |
//! | [`mirror`] | the caller's own log |
//! | [`leader`] | the job's first process and how it ended |
//! | [`tree`] | which processes are the job's |
//! | [`escalation`] | TERM, grace, KILL until none is left |
//! | [`guard`] | the same for a keeper that its disk holds up |
//! | [`tail`] | what is left after the end |
//! | [`ending`] | drain, sync, record, publish |
//! | [`findable`] | making the job's names last |
//! | [`ledger`] | the journal, with room set aside for the end |
//! | [`clients`] | who is connected, and what they wait for |
//! | [`errand`], [`errands`] | processes that work for the keeper |
//! | [`turn`], [`probe`] | waiting for a lock; seeing whether the job is ready |
//! | [`ringing`] | doorbells |
//! | [`keep_awake`] | holding off sleep |
//! | [`host`] | which host this is |
//! | [`hooks`] | where tests can stop or kill a keeper |
#![forbid(unsafe_code)]

mod awaiting;
mod capture;
mod channel;
mod clients;
mod company;
mod copying;
mod ending;
mod errand;
mod errands;
mod escalation;
mod findable;
mod flow;
mod front;
mod guard;
mod hooks;
mod host;
mod indexing;
mod input;
mod keep_awake;
mod keeper;
mod leader;
mod ledger;
mod mirror;
mod noticing;
mod pair;
mod probe;
mod ringing;
mod rounds;
mod serving;
mod shared;
mod signs;
mod spool;
mod standby;
mod start;
mod store;
mod tail;
mod taking;
mod tools;
mod tree;
mod turn;
mod typing;
mod wake;
mod walk;
pub mod watch;

use outlive_core::JobDir;
pub use pair::run;

/// The whole program: one argument, the job directory. Returns the exit code.
///
/// With `foreground` as a second one it stays in the place of its caller (`front.rs`), and has its own pid as a third
/// one once it is marked. A keeper starts it with two
/// more, an errand and the keeper's own pid.
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
                (Some("turn"), Some(parent)) => turn::wait(&job, parent),
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
