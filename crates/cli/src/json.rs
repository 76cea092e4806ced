//! JSON as it is printed, a line each.
//!
//! JSON may hold DEL and the C1 controls (U+0080 to U+009F) as they are, and a terminal that takes U+009B
//! for the beginning of a control sequence would obey it. So they are written out as `\u009b`, which is
//! the same to whoever parses it.

use serde::Serialize;
use std::fmt::Write;
use std::io;

/// One line of JSON.
pub fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(harmless(serde_json::to_string(value)?) + "\n")
}

/// The same JSON without characters that a terminal may obey.
pub fn harmless(json: String) -> String {
    let is_obeyed = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !json.contains(is_obeyed) {
        return json;
    }
    // They stand in strings only: everything else in JSON is ASCII that can be seen.
    let mut shown = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        match is_obeyed(c) {
            true => {
                write!(shown, "\\u{:04x}", u32::from(c)).expect("a string takes what is written")
            }
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        let value = json!({"\u{9b}31m": "a\u{7f}\u{80}\u{9b}2J\u{9f}\u{a0}é日\n"});
        let line = line(&value).expect("JSON");
        assert!(line.trim_end().chars().all(|c| !c.is_control()), "{line:?}");
        assert!(line.contains(r"\u009b2J"), "{line}");
        assert_eq!(
            serde_json::from_str::<Value>(&line).expect("JSON"),
            value,
            "the same to a parser"
        );
    }
}
