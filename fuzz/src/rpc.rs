//! However the bytes are cut, the same messages come out, and what is no message has a reason. A message survives being
//! written and read again.

use outlive_rpc::decoder::{Decoder, Input, Malformed};

pub fn check(bytes: &[u8]) {
    // The first byte says how the rest is cut.
    let (size, rest) = bytes
        .split_first()
        .map_or((1, bytes), |(size, rest)| (usize::from(*size).max(1), rest));
    let whole = read(rest, rest.len().max(1));
    assert_eq!(read(rest, size), whole, "in pieces of {size}");
    let lines = rest.iter().filter(|byte| **byte == b'\n').count();
    assert!(whole.len() <= lines + 1, "one answer for a line at most");
    for input in whole {
        match input {
            Input::Malformed(Malformed { reason, .. }) => {
                assert!(!reason.is_empty());
                assert!(
                    reason.len() <= 4 * rest.len() + 1000,
                    "longer than what was written: {reason}"
                );
            }
            Input::Message(message, raw) => {
                let line = serde_json::to_vec(&message).expect("what was heard can be said");
                assert!(!line.contains(&b'\n'), "it would be two lines");
                let again = [&line[..], b"\n", raw.as_deref().unwrap_or_default()].concat();
                assert_eq!(read(&again, again.len()), [Input::Message(message, raw)]);
            }
        }
    }
}

fn read(bytes: &[u8], size: usize) -> Vec<Input> {
    let (mut decoder, mut inputs) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(size) {
        decoder.push(piece);
        inputs.extend(std::iter::from_fn(|| decoder.next_input()));
    }
    inputs
}
