//! Describes an attempt after which another one follows.

use super::{cause, duration, how, of_job, title};
use crate::event::{AttemptEnd, Moment};
use crate::outcome::End;
use crate::quote;
use crate::spec::Spec;
use outlive_api::event_data::{OfJob, Restarted};
use outlive_api::time::Millis;

/// The data of a `restarted` event, which happened at this time.
pub fn restarted_data(spec: &Spec, ended: &AttemptEnd, at: Moment) -> OfJob<Restarted> {
    let end = &ended.end;
    of_job(
        spec,
        Restarted {
            attempt: ended.number,
            next_attempt_at: (at.wall + pause(ended, at)).into(),
            outcome: end.outcome.clone(),
            exit_code: end.outcome.exit_code(),
            ended_by: end.ended_by,
            duration_ms: end.duration_ms.map(Millis),
            output_bytes: end.output_bytes,
        },
    )
}

/// Tells how an attempt ended, and when the next one begins.
pub fn restarted_sentence(spec: &Spec, ended: &AttemptEnd, at: Moment) -> String {
    let end = &ended.end;
    let took = end
        .duration_ms
        .map_or_else(String::new, |ms| format!(" after {}", duration(ms)));
    let why = cause(end).map_or_else(String::new, |why| format!(" {why}"));
    format!(
        "{}: attempt {} {}{took}.{why} Attempt {} begins {} later.",
        title(spec),
        ended.number,
        how(end, spec),
        ended.number.saturating_add(1),
        duration(pause(ended, at).0),
    )
}

/// Why no attempt followed, as a sentence; empty if the rule for restarts says it.
pub(super) fn not_restarted(end: &End) -> String {
    match &end.not_restarted {
        Some(why) => format!(" It was not restarted: {}.", quote::line(why)),
        None => String::new(),
    }
}

fn pause(ended: &AttemptEnd, at: Moment) -> Millis {
    ended.next_at.since(at.boot).into()
}
