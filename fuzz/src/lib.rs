//! What must hold of every decoder of outside bytes, whatever the bytes: one target, one module.
//!
//! A target takes bytes and panics if something does not hold. libFuzzer looks for such bytes
//! (`libfuzzer/`); the program of this crate takes those that it is given.
#![forbid(unsafe_code)]

pub mod breaker;
pub mod control;
pub mod hook;
pub mod index;
pub mod journal;
pub mod json;
pub mod mcp;
pub mod redact;
pub mod screen;
pub mod shell;
pub mod spec;
pub mod told;
pub mod units;
pub mod view;
pub mod watch;
pub mod words;

use arbitrary::{Arbitrary, Unstructured};

/// What a target does with an input.
pub type Check = fn(&[u8]);

/// Every target, by name.
pub const TARGETS: [(&str, Check); 16] = [
    ("breaker", breaker::check),
    ("control", control::check),
    ("hook", hook::check),
    ("index", index::check),
    ("journal", journal::check),
    ("json", json::check),
    ("mcp", mcp::check),
    ("redact", redact::check),
    ("screen", screen::check),
    ("shell", shell::check),
    ("spec", spec::check),
    ("told", told::check),
    ("units", units::check),
    ("view", view::check),
    ("watch", watch::check),
    ("words", words::check),
];

/// An input as the values that a target wants; as libFuzzer's own macro reads it, so that what one of
/// them found the other takes.
fn read<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_target_has_kept_inputs_and_is_one_of_libfuzzers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (name, _) in TARGETS {
            let kept = std::fs::read_dir(root.join("corpus").join(name));
            assert!(kept.is_ok_and(|kept| kept.count() > 0), "{name}");
            let wrapper = root.join("libfuzzer").join(format!("{name}.rs"));
            assert!(wrapper.is_file(), "{name}");
        }
        let modules = std::fs::read_dir(root.join("src")).into_iter().flatten();
        // Besides this file and the program.
        assert_eq!(modules.count(), TARGETS.len() + 2);
    }
}
