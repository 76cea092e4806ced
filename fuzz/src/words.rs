//! Ids, labels and similar words from outside: accepted ones are safe file names and print as
//! themselves.

use crate::read;
use outlive::keys::Key;
use outlive::{Cursor, JobId, Label, Ready, Signal, Size, WriteId};
use std::path::{Component, Path};

fn is_plain_file_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    let only = parts.next();
    matches!(only, Some(Component::Normal(_))) && parts.next().is_none() && text.len() <= 255
}

pub fn check(bytes: &[u8]) {
    let Some(text) = read::<&str>(bytes) else {
        return;
    };
    if let Ok(id) = JobId::parse(text) {
        assert!(is_plain_file_name(id.as_str()) && id.as_str() == text && text.is_ascii());
    }
    if let Ok(label) = Label::parse(text) {
        let name = label.file_name();
        assert!(is_plain_file_name(&name) && name.is_ascii() && !name.starts_with('.'));
        assert_eq!(label.as_str(), text);
    }
    if let Ok(id) = WriteId::parse(text) {
        assert_eq!(id.as_str(), text);
    }
    if let Ok(size) = Size::parse(text) {
        assert_eq!(
            Size::parse(&format!("{}x{}", size.rows, size.cols)),
            Ok(size)
        );
    }
    if let Ok(signal) = Signal::parse(text) {
        assert_eq!(Signal::parse(&signal.to_string()), Ok(signal));
    }
    if let Ok(cursor) = Cursor::parse(text) {
        assert_eq!(Cursor::parse(&cursor.to_string()), Ok(cursor));
    }
    if let Ok(key) = Key::parse(text) {
        assert!(!key.bytes(false).is_empty() && key.bytes(true).len() <= text.len().max(8));
    }
    let _ = Ready::parse(text);
}
