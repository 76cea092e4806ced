//! Any arguments of any tool get an answer or a refusal with a text, and no requested time is longer
//! than a deadline can be.

use crate::read;
use outlive::units::MAX_DURATION;
use outlive_mcp::fuzzing::{Answered, Desk};
use std::sync::LazyLock;

/// Nothing is ever started here, so there is nothing to clean up.
static DESK: LazyLock<Desk> = LazyLock::new(|| {
    let nowhere = std::env::temp_dir().join("outlive-fuzz-has-no-home");
    Desk::new(nowhere).expect("a home that is not there can be opened")
});

pub fn check(bytes: &[u8]) {
    let Some((tool, bytes)) = read::<(u8, &[u8])>(bytes) else {
        return;
    };
    let Ok(arguments) = serde_json::from_slice(bytes) else {
        return;
    };
    match DESK.ask(usize::from(tool), arguments) {
        Answered::Said(_) => {}
        Answered::Refused(text) => {
            assert!(!text.is_empty());
            assert!(
                text.len() <= 4 * bytes.len() + 1000,
                "longer than what was asked: {text}"
            );
        }
        Answered::WouldRun { timeout } => assert!(timeout.is_none_or(|time| time <= MAX_DURATION)),
    }
}
