//! Compares a text with the file of its expected content.

use outlive_kit::setup::diff;
use std::fs;
use std::path::Path;

const UPDATE: &str = "UPDATE_SNAPSHOTS";

/// Fails with the difference, unless the file `NAME.txt` has this text. With `UPDATE_SNAPSHOTS=1` it writes the file
/// instead.
#[track_caller]
pub fn assert_snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(name)
        .with_extension("txt");
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{} differs:\n{}\nIf the new text (+) is right, run the test again with {UPDATE}=1.",
        path.display(),
        diff(&expected, text)
    );
}
