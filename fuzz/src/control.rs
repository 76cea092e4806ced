//! Requests and replies are one line each, and survive being encoded and decoded again.

use outlive_core::control::{MAX_DATA, MAX_LINE, Reply, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

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

pub fn check(bytes: &[u8]) {
    if let Some(Request::Write(write)) = survives_a_round_trip(bytes)
        && write.data.as_os_str().len() <= MAX_DATA
    {
        let line = serde_json::to_vec(&Request::Write(write)).expect("said before");
        assert!(line.len() <= MAX_LINE, "a keeper would not take it");
    }
    survives_a_round_trip::<Reply>(bytes);
}
