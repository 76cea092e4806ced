//! Any bytes are a readable journal, and reading them twice tells the same.

use outlive_core::Journal;

pub fn check(bytes: &[u8]) {
    let once = Journal::parse(bytes);
    // Sealed and repeated, as after a copy: nothing is taken twice.
    let twice = Journal::parse(&[bytes, b"\n", bytes].concat());
    assert_eq!(
        once.state.end(),
        twice
            .state
            .end()
            .filter(|_| once.state.end().is_some())
            .or(once.state.end())
    );
    assert!(twice.state.seq >= once.state.seq);
}
