//! The index accepts arbitrary bytes. Its marks are in order, and each lookup finds the nearest mark.

use crate::read;
use outlive_core::WallTime;
use outlive_core::index::Index;

pub fn check(bytes: &[u8]) {
    let Some((probe, bytes)) = read::<(u64, &[u8])>(bytes) else {
        return;
    };
    let index = Index::parse(bytes);
    assert!(index.length() <= bytes.len() as u64);
    let whole = &bytes[..index.length() as usize];
    assert_eq!(Index::parse(whole), index, "the rest told something");
    assert!(index.before_offset(probe).offset <= probe);
    assert!(index.before_line(probe).newlines <= probe);
    if let Some(mark) = index.after_offset(probe) {
        assert!(mark.offset >= probe);
    }
    assert!(index.before_offset(probe).offset <= index.last().offset);
    index.before_time(WallTime::from_ms(probe));
    index.time_of(probe);
}
