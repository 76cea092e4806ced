//! What a job shows of itself while it runs.
//!
//! | module | owns |
//! |---|---|
//! | [`detector`] | watched lines, readiness, silence and prompts, found in output and time |
//! | [`sign_watch`] | the keeper journals what the detector finds |
//! | [`changing`] | another watch, `notify` or other labels, while the job runs |
//! | [`watch`] | finding lines, and how often they are reported |
//! | [`breaker`] | a limit for all watches of a session |
//! | [`progress`] | how far the output has been looked at, kept in a file |
//! | [`prompt`] | an unfinished line that may be a prompt |
//! | [`silence`] | how long the job has been silent |
//! | [`unwritten`] | found and not in the journal yet |
//! | [`awaiting`] | whether the job waits for input |
//! | [`probe`] | testing whether the job is ready |

pub(crate) mod awaiting;
mod breaker;
mod changing;
pub(crate) mod detector;
pub(crate) mod probe;
mod progress;
mod prompt;
pub(crate) mod sign_watch;
mod silence;
mod unwritten;
pub mod watch;
