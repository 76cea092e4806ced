//! Every default, once. Help texts, documentation and tool descriptions are compared with these numbers by
//! tests (`crates/cli/tests/e2e/defaults.rs`).

use std::time::Duration;

/// In milliseconds, as records have it. A shorter time that is not 0 becomes 1, because 0 often means "never".
pub const fn milliseconds(time: Duration) -> u64 {
    let milliseconds = time.as_millis();
    if milliseconds > u64::MAX as u128 {
        return u64::MAX;
    }
    match milliseconds == 0 && !time.is_zero() {
        true => 1,
        false => milliseconds as u64,
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// From TERM to KILL when a job is stopped. Programs that save something on TERM do it within a second.
pub const GRACE: Duration = Duration::from_secs(2);
/// How much of an output is kept: the first quarter and the newest rest.
pub const MAX_OUTPUT: u64 = 64 * 1024 * 1024;
/// The smallest limit of an output. With a smaller one, dropping whole pages would drop too much at a time.
pub const MIN_OUTPUT: u64 = 64 * 1024;
/// The most patterns that one job is watched for. A keeper that has to try thousands on every line is too late for
/// everything else.
pub const MAX_PATTERNS: usize = 200;
/// How long an unfinished line must be still to count as a line. Programs write a prompt in one go.
pub const STILL: Duration = Duration::from_millis(200);

/// How much text of an output is shown at most, unless less is asked for. It is held in memory.
pub const MAX_LOG_TEXT: usize = 64 * 1024 * 1024;
/// Longer lines are shortened where output is shown as text.
pub const MAX_LOG_LINE: usize = 16 * 1024;

/// A watch reports at most once in this time.
pub const WATCH_SPACING: Duration = Duration::from_secs(15);
/// This many busy spacings in a row turn a watch off.
pub const WATCH_STRIKES: u32 = 3;

/// This many matches of one session's jobs …
pub const BREAKER_MATCHES: u32 = 15;
/// … in this time are followed …
pub const BREAKER_WINDOW: Duration = Duration::from_secs(10);
/// … by this much silence.
pub const BREAKER_SILENCE: Duration = Duration::from_secs(30);

/// How long a claimed event waits for its ack. A turn of an agent is seldom longer.
pub const INBOX_CLAIM: Duration = Duration::from_secs(5 * MINUTE);
/// How often an event is delivered before it is given up.
pub const INBOX_ATTEMPTS: u32 = 8;
/// How long an event that was delivered and not acked is kept.
pub const INBOX_KEEP: Duration = Duration::from_secs(48 * HOUR);
/// How long a hook claims events at most. It delivers within moments, so one that was killed need not hold
/// them back for longer.
pub const HOOK_CLAIM: Duration = Duration::from_secs(30);

/// How many events are appended to the reply of another MCP tool: each may show two thousand characters of
/// output, and the reply has its own answer too.
pub const MAX_EVENTS_BESIDE: usize = 8;
/// How many events the MCP tool `inbox` takes at once: with two thousand characters each they fit a reply.
pub const MAX_EVENTS_TAKEN: usize = 12;
/// How many events a hook hands over at once: each has its headline within the 10,000 characters that
/// agents take from a hook.
pub const MAX_EVENTS_HOOK: usize = 40;

/// `prune` removes jobs that ended longer ago than this.
pub const PRUNE_AGE: Duration = Duration::from_secs(7 * DAY);
/// Ended jobs are removed by themselves this long after their end. Who comes back to a job does so within a month.
pub const RETAIN_AGE: Duration = Duration::from_secs(30 * DAY);
/// How many ended jobs are kept. Nobody looks through more, and every pass over them stays short.
pub const RETAIN_JOBS: u32 = 1000;
/// How much disk space ended jobs may use: some 150 outputs of the largest size.
pub const RETAIN_SIZE: u64 = 10 * 1024 * 1024 * 1024;
/// A job that ended within this time is never removed by itself, whatever the other limits say: somebody may come
/// in the morning for what ran at night.
pub const RETAIN_AT_LEAST: Duration = Duration::from_secs(DAY);
/// How often ended jobs are looked through.
pub const RETAIN_EVERY: Duration = Duration::from_secs(HOUR);

/// How long a job is kept because its session has not been told of something. A session that has not come
/// for a month will not come.
pub const KEEP_UNTOLD: Duration = Duration::from_secs(30 * DAY);

/// How many lines of an output `log` shows.
pub const LOG_LINES: u64 = 200;
/// How many of the last lines of an output `show` shows.
pub const PREVIEW_LINES: u64 = 10;
/// How many ended jobs `list` shows.
pub const LIST_ENDED: usize = 20;

/// How long one ring of a doorbell may take. Long enough for what a person would run by hand and wait for.
pub const DOORBELL_TIMEOUT: Duration = Duration::from_secs(MINUTE);
/// The same for a webhook: long enough for a slow receiver, and a keeper waits for it.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an MCP client waits for an answer. Most clients give up after 60 seconds.
pub const MCP_PATIENCE: Duration = Duration::from_secs(45);
/// How much text of an output one reply over MCP contains, in bytes.
pub const MCP_LOG_BUDGET: usize = 32 * 1024;
