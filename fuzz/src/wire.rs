//! The same frames come out however the bytes are cut, and they encode to the same bytes. What is said in frames
//! survives being encoded and decoded again.

use outlive_core::far::{
    Answer, Call, FromJournals, HomeId, MAX_LINE, Opening, StreamEnd, ToJournals,
};
use outlive_core::wire::{Decoder, Frame, MAX_PAYLOAD, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

pub fn check(bytes: &[u8]) {
    // The first byte says how the rest is cut.
    let (size, rest) = bytes
        .split_first()
        .map_or((1, bytes), |(size, rest)| (usize::from(*size).max(1), rest));
    let whole = frames(rest, rest.len().max(1));
    assert_eq!(frames(rest, size), whole, "in pieces of {size}");
    let (frames, error) = whole;
    let again: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
    assert!(rest.starts_with(&again), "a frame has one spelling");
    assert!(error.is_some() || rest.len() - again.len() <= MAX_PAYLOAD + 64);
    for frame in &frames {
        assert!(frame.payload.len() <= MAX_PAYLOAD);
        heard(&frame.payload);
    }
    heard(rest);
}

fn frames(bytes: &[u8], size: usize) -> (Vec<Frame>, Option<WireError>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(size) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

fn heard(bytes: &[u8]) {
    survives_a_round_trip::<Opening>(bytes);
    survives_a_round_trip::<Call>(bytes);
    survives_a_round_trip::<Answer>(bytes);
    survives_a_round_trip::<StreamEnd>(bytes);
    survives_a_round_trip::<FromJournals>(bytes);
    if let Some(asked) = survives_a_round_trip::<ToJournals>(bytes) {
        let line = serde_json::to_vec(&asked).expect("said before");
        assert!(line.len() < MAX_LINE, "a far end would not take it");
    }
    if let Ok(id) = std::str::from_utf8(bytes).map(HomeId::parse)
        && let Ok(id) = id
    {
        assert!(!id.as_str().contains(['/', '.']), "it is part of a path");
    }
}

fn survives_a_round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    bytes: &[u8],
) -> Option<T> {
    let heard: T = serde_json::from_slice(bytes).ok()?;
    let line = serde_json::to_vec(&heard).expect("what was heard can be said");
    assert!(!line.contains(&b'\n'), "it would be two lines");
    assert_eq!(
        serde_json::from_slice::<T>(&line).expect("and heard"),
        heard
    );
    Some(heard)
}
