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
        assert_eq!(Call::read(&more[..], occasion, None).ok(), Some(call));
    }
}
