//! Settings of an agent that switch off what setup writes, such as all hooks. Setup does not change them; it says
//! that they are there.

use super::json::{self, Dialect};
use super::{file, toml};
use serde_json::Value;
use std::path::PathBuf;

/// A setting that switches something off.
#[derive(Clone, Debug)]
pub struct Switch {
    pub file: PathBuf,
    /// The keys that lead to it.
    pub path: &'static [&'static str],
    pub off: bool,
    /// What follows from it, as a sentence.
    pub means: &'static str,
}

impl Switch {
    /// Says so if the switch is off. A file that cannot be read switches nothing off.
    pub fn warning(&self) -> Option<String> {
        let text = file::read(&self.file).ok()??.text;
        let found = match self.file.extension().is_some_and(|kind| kind == "toml") {
            true => toml::flag(&text, self.path),
            false => {
                let root = json::parse(&text, Dialect::Comments).ok()?;
                root.find(self.path).map(json::Node::value)
            }
        };
        let is_off = found == Some(Value::from(self.off));
        is_off.then(|| {
            let (file, key) = (self.file.display(), self.path.join("."));
            format!("{file} sets {key} to {}: {}", self.off, self.means)
        })
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_the_value_that_switches_off_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text, is_off) in [
            ("a.json", "{\"hooks\": {\"on\": false}} // off", true),
            ("b.json", "{\"hooks\": {\"on\": true}}", false),
            ("c.json", "{\"hooks\": false}", false),
            ("d.json", "{", false),
            ("e.toml", "[hooks]\non = false\n", true),
            ("f.toml", "hooks.on = true\n", false),
            ("g.toml", "hooks = 1\n", false),
        ] {
            let file = directory.path().join(name);
            fs::write(&file, text).unwrap();
            let switch = Switch {
                file,
                path: &["hooks", "on"],
                off: false,
                means: "so",
            };
            let warning = switch.warning();
            assert_eq!(warning.is_some(), is_off, "{text}: {warning:?}");
            assert!(warning.is_none_or(|text| text.ends_with(" sets hooks.on to false: so")));
        }
    }
}
