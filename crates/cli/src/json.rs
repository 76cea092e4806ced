//! JSON as it is printed, one value per line.
//!
//! JSON may contain DEL and the C1 controls (U+0080 to U+009F) unescaped. A terminal may take U+009B for the start of
//! a control sequence and obey it. So these characters are written as `\u009b` and the like, which is the same for a
//! parser.

use serde::Serialize;
use std::fmt::Write;
use std::io;

/// One line of JSON.
pub fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(harmless(serde_json::to_string(value)?) + "\n")
}

/// The same JSON, with those characters escaped.
pub fn harmless(json: String) -> String {
    let is_obeyed = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !json.contains(is_obeyed) {
        return json;
    }
    // They can be only in strings: all other parts of JSON are printable ASCII.
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
