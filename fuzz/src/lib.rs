//! The properties of every decoder of outside bytes, for any input. One target is one module.
//!
//! A target takes bytes and panics if a property does not hold. libFuzzer searches for such bytes
//! (`libfuzzer/`); the program of this crate tests the inputs that it gets.
#![forbid(unsafe_code)]

pub mod breaker;
pub mod control;
pub mod hook;
pub mod index;
pub mod journal;
pub mod json;
pub mod mcp;
pub mod place;
pub mod quote;
pub mod redact;
pub mod rpc;
pub mod screen;
pub mod shell;
pub mod spec;
pub mod streams;
pub mod told;
pub mod tunnel;
pub mod units;
pub mod view;
pub mod watch;
pub mod wire;
pub mod words;

use arbitrary::{Arbitrary, Unstructured};

/// The function that tests one input.
pub type Check = fn(&[u8]);

/// Every target, by name.
pub const TARGETS: [(&str, Check); 22] = [
    ("breaker", breaker::check),
    ("control", control::check),
    ("hook", hook::check),
    ("index", index::check),
    ("journal", journal::check),
    ("json", json::check),
    ("mcp", mcp::check),
    ("place", place::check),
    ("quote", quote::check),
    ("redact", redact::check),
    ("rpc", rpc::check),
    ("screen", screen::check),
    ("shell", shell::check),
    ("spec", spec::check),
    ("streams", streams::check),
    ("told", told::check),
    ("tunnel", tunnel::check),
    ("units", units::check),
    ("view", view::check),
    ("watch", watch::check),
    ("wire", wire::check),
    ("words", words::check),
];

/// Decodes an input into the values that a target needs, in the same way as libFuzzer's own macro, so
/// that both can use each other's inputs.
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
        // Besides this file and `main.rs`.
        assert_eq!(modules.count(), TARGETS.len() + 2);
    }
}
