//! What an agent says to its hook: read or refused, and a session read from it is one that can be a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outlive::hook::Call;

fuzz_target!(|input: (u8, &[u8])| {
    let (which, said) = input;
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
        // What follows the call is not waited for, and not looked at.
        let more = [said, b"\n\"half"].concat();
        assert_eq!(Call::read(&more[..], occasion, None).ok(), Some(call));
    }
});
