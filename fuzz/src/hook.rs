//! The input of a hook is read or refused. A session that is read from it is a safe file name.

use crate::read;
use outlive_kit::hook::Call;

pub fn check(bytes: &[u8]) {
    let Some((which, said)) = read::<(u8, &[u8])>(bytes) else {
        return;
    };
    let occasions = [
        "session-start",
        "user-prompt-submit",
        "post-tool-use",
        "stop",
        "wait",
    ];
    let occasion = occasions[usize::from(which) % occasions.len()];
    if let Ok(call) = Call::read(said, occasion, None) {
        assert!(call.session.file_name().len() <= 255);
        // The bytes after the call are neither awaited nor read.
        let more = [said, b"\n\"half"].concat();
        let again = Call::read(&more[..], occasion, None).ok();
        let has_sign = |call: &Call| call.sign.is_some();
        assert_eq!(again.as_ref().map(has_sign), Some(has_sign(&call)));
        assert_eq!(again.map(without_time), Some(without_time(call)));
    }
}

/// A sign of life holds the time at which the call was read.
fn without_time(call: Call) -> Call {
    Call { sign: None, ..call }
}
