//! Starting a job after others: what a client that waits for them tells the job's keeper.

use crate::id::JobId;
use crate::outcome::End;
use crate::spec::Spec;
use crate::words;

/// The exit code by which the client says that the job must not be started. Its standard error says why.
pub const MUST_NOT_START: u8 = 10;

/// Why a job is not started that was to start after the success of another one, which ended in another way.
pub fn refusal(other: &Spec, end: &End) -> String {
    format!(
        "it was to start after the success of {}, which {}",
        other.id,
        words::how(end, other)
    )
}

/// The same if the other job was removed first, so that nobody can tell how it ended.
pub fn refusal_unknown(other: &JobId) -> String {
    format!(
        "it was to start after the success of {other}, which was removed before its end was seen"
    )
}
