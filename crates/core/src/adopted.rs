//! A job made of a process that somebody else had started (`outlive adopt`).
//!
//! Its launcher writes `accepted`, `spawned` and `started` before the directory gets its name. So every keeper, also
//! one of an earlier release, finds a job that runs and has no keeper, and takes it over as after the death of both
//! keepers: by pid, start time and boot id. No keeper ever executes such a job's command.
//!
//! Earlier releases ignore the field in the spec. They show, wait for and end such a job exactly. Only if one of them
//! takes it over after both keepers were killed, its `stop` reaches no more than the session that the process leads.

use crate::process::ProcRef;
use crate::quote::{self, MAX_PATH};
pub use outlive_api::adopted::AdoptedProcess;
use outlive_api::os_text::OsText;
use serde::{Deserialize, Serialize};

/// The process that became the job's leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    pub process: ProcRef,
    #[serde(flatten)]
    pub as_found: AdoptedProcess,
}

/// Why the outcome of an adopted process is not known, if its system does not tell it.
pub const NOT_TOLD: &str = "it was adopted, and this kernel tells its exit code only to the process that started it (Linux 6.15 and later tell others)";

/// Says where the output of an adopted process goes, as a sentence without its full stop.
pub fn output_sentence(found: &AdoptedProcess) -> String {
    let place = |text: &OsText| quote::word(&text.lossy(), MAX_PATH);
    let to = match (&found.stdout, &found.stderr) {
        (Some(out), Some(err)) if out == err => format!("it goes to {}", place(out)),
        (Some(out), Some(err)) => format!(
            "it goes to {}, and standard error to {}",
            place(out),
            place(err)
        ),
        (Some(out), None) => format!("it goes to {}", place(out)),
        (None, Some(err)) => format!("standard error goes to {}", place(err)),
        (None, None) => "it goes where it went before".to_owned(),
    };
    format!("its output is not captured, because it was adopted: {to}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_api::time::Timestamp;

    fn found(stdout: Option<&str>, stderr: Option<&str>) -> AdoptedProcess {
        AdoptedProcess {
            process_started_at: Timestamp::from_unix_ms(0),
            stdout: stdout.map(OsText::from),
            stderr: stderr.map(OsText::from),
            outcome_is_told: true,
        }
    }

    #[test]
    fn the_places_of_both_streams_are_said() {
        for (out, err, expected) in [
            (Some("/a"), Some("/a"), "it goes to /a"),
            (
                Some("/a"),
                Some("/b"),
                "it goes to /a, and standard error to /b",
            ),
            (Some("/a"), None, "it goes to /a"),
            (None, Some("/b"), "standard error goes to /b"),
            (None, None, "it goes where it went before"),
        ] {
            let said = output_sentence(&found(out, err));
            assert!(said.ends_with(expected), "{said}");
        }
    }
}
