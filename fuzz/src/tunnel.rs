//! An answer is found in whatever stands around it, and nothing else is one. Texts and messages have one spelling, and what
//! lenders are asked and say survives a round trip.

use crate::read;
use outlive::places::lend::protocol::{Asked, Told};
use outlive::places::tunnel::fuzzing::{
    Answer, Request, decode, decode_base64, encode, encode_base64, find, line, room,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

pub fn check(bytes: &[u8]) {
    anything(bytes);
    let Some((before, payload, after)) = read::<(&[u8], &[u8], &[u8])>(bytes) else {
        return;
    };
    let text = line(payload);
    let noisy = [before, text.as_bytes(), after].concat();
    let found = find(&noisy);
    assert!(found.iter().any(|found| found == payload), "it was there");
    assert!(payload.len() <= room(text.len()) + 16, "room is not wasted");
    let fitting = vec![b'x'; room(noisy.len()).min(1 << 16)];
    assert!(line(&fitting).len() <= noisy.len().max(64), "it has room");
    let trimmed = text.trim().as_bytes();
    let cut = usize::from(payload.first().copied().unwrap_or_default()) % trimmed.len();
    assert!(find(&trimmed[..cut]).is_empty(), "a part is no answer");
    anything(payload);
}

fn anything(bytes: &[u8]) {
    for found in find(bytes) {
        // What was found is what a line of it says.
        assert_eq!(find(line(&found).as_bytes()), [found]);
    }
    assert_eq!(
        decode_base64(encode_base64(bytes).as_bytes()).as_deref(),
        Some(bytes)
    );
    if let Some(decoded) = decode_base64(bytes) {
        let letters = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
        let letters: Vec<u8> = letters.copied().collect();
        assert_eq!(encode_base64(&decoded).as_bytes(), letters, "one spelling");
    }
    survives::<Request>(bytes);
    survives::<Answer>(bytes);
    for text in bytes.split(|byte| *byte == b'\n') {
        is_one_line::<Asked>(text);
        is_one_line::<Told>(text);
    }
}

fn survives<Head: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    if let Some((head, rest)) = decode::<Head>(bytes) {
        let again = encode(&head, rest);
        assert_eq!(decode::<Head>(&again), Some((head, rest)));
    }
}

fn is_one_line<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    if let Ok(heard) = serde_json::from_slice::<T>(bytes) {
        let line = serde_json::to_vec(&heard).expect("what was heard can be said");
        assert!(!line.contains(&b'\n'), "it would be two lines");
        assert_eq!(
            serde_json::from_slice::<T>(&line).expect("and heard"),
            heard
        );
    }
}
