//! Checks the resource limits of a keeper, as a launch does.

use super::{Check, Verdict};
use outlive_core::limits::{Files, refusal};
use outlive_sys::offers;
use outlive_sys::process::Limits;

/// Each job needs at least three processes: its two keepers and itself.
const FEW_PROCESSES: u64 = 100;

pub fn check() -> Check {
    let processes = offers::processes();
    // A keeper that cannot read its limits refuses nothing.
    let may = Limits::lifted().ok();
    let refused = |needed| may.and_then(|may| refusal(needed, may.open_files(), may.file_size()));
    let (verdict, reason, means) = match (refused(Files::PLAIN), refused(Files::ANY)) {
        (Some(reason), _) => (Verdict::Broken, Some(reason), "no job can be started"),
        (None, Some(reason)) => (
            Verdict::Less,
            Some(reason),
            "jobs with an input, a terminal, a watch, a lock or a doorbell may be refused",
        ),
        (None, None) => (
            match processes.is_some_and(|most| most < FEW_PROCESSES) {
                true => Verdict::Less,
                false => Verdict::Good,
            },
            None,
            "a job takes two processes besides its own",
        ),
    };
    Check {
        name: "limits".into(),
        verdict,
        found: reason.unwrap_or_else(|| {
            let files = show(offers::open_files());
            format!("{files} open files, {} processes", show(processes))
        }),
        means: means.into(),
    }
}

fn show(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}
