//! A spec or a post that can be read survives being written and read again, and its dropped range is
//! inside the output.

use crate::read;
use outlive_core::Spec;
use outlive_core::doorbell::MAX_TIMEOUT_MS;
use outlive_core::post::Post;
use std::time::Duration;

pub fn check(bytes: &[u8]) {
    let Some((size, bytes)) = read::<(u64, &[u8])>(bytes) else {
        return;
    };
    if let Ok(spec) = serde_json::from_slice::<Spec>(bytes) {
        let written = serde_json::to_vec(&spec).expect("what was read can be written");
        let again: Spec = serde_json::from_slice(&written).expect("and read");
        assert_eq!(again, spec);
        let dropped = spec.dropped(size);
        assert!(dropped.start <= dropped.end && dropped.end <= size.max(dropped.start));
        for bell in &spec.doorbells {
            assert!(
                bell.time_limit() <= Duration::from_millis(MAX_TIMEOUT_MS),
                "a keeper would stay for ever"
            );
        }
    }
    if let Ok(post) = serde_json::from_slice::<Post>(bytes) {
        let written = serde_json::to_vec(&post).expect("what was read can be written");
        assert_eq!(
            serde_json::from_slice::<Post>(&written).expect("and read"),
            post
        );
    }
}
