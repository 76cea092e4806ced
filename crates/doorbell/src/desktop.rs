//! Shows an event as a desktop notification, with the desktop's own program.
//!
//! The text of an event comes from outside. It is passed as arguments that cannot act as options,
//! script or markup, and is cut to the length that a notification shows.

use crate::error::NotRung;
use crate::event::Event;
use crate::program;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Desktops show no more than this, in characters.
const MAX_TITLE: usize = 200;
const MAX_BODY: usize = 2000;

/// The program that shows notifications on one kind of desktop.
#[derive(Clone, Copy, Debug)]
struct Notifier {
    program: &'static str,
    hint: &'static str,
    arguments: fn(&str, &str) -> Vec<String>,
}

const FREEDESKTOP: Notifier = Notifier {
    program: "notify-send",
    hint: "the package libnotify or libnotify-bin",
    arguments: notify_send,
};

const MACOS: Notifier = Notifier {
    program: "osascript",
    hint: "it is part of macOS",
    arguments: osascript,
};

pub fn ring(event: &Event, limit: Duration) -> Result<(), NotRung> {
    let notifier = match std::env::consts::OS {
        "macos" => MACOS,
        _ => FREEDESKTOP,
    };
    let (title, body) = split(&event.text);
    let mut command = Command::new(notifier.program);
    command
        .args((notifier.arguments)(&title, &body))
        .stdin(Stdio::null());
    program::run(&mut command, notifier.program, notifier.hint, limit)
}

/// Splits the text into its first line and the rest.
fn split(text: &str) -> (String, String) {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let title = printable(first.trim(), MAX_TITLE);
    match title.is_empty() {
        // Programs refuse to show a notification without a title.
        true => ("Outlive".to_owned(), String::new()),
        false => (title, printable(rest.trim(), MAX_BODY)),
    }
}

/// Removes control characters, since some of them cannot be passed as an argument.
fn printable(text: &str, most: usize) -> String {
    let is_shown = |c: &char| !c.is_control() || *c == '\n';
    let mut shown: String = text.chars().filter(is_shown).take(most).collect();
    if text.chars().filter(is_shown).nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Desktops treat the body as markup, and `notify-send` removes backslashes from it. Neither applies to
/// the title.
fn notify_send(title: &str, body: &str) -> Vec<String> {
    let body = body
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\\', "\\\\");
    ["--app-name=Outlive", "--", title, &body]
        .map(str::to_owned)
        .to_vec()
}

/// The text is passed to the script as an argument, not inserted into it.
fn osascript(title: &str, body: &str) -> Vec<String> {
    let script = "display notification (item 2 of argv) with title (item 1 of argv)";
    [
        "-e",
        "on run argv",
        "-e",
        script,
        "-e",
        "end run",
        "--",
        title,
        body,
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_title() {
        for (text, title, body) in [
            ("one", "one", ""),
            ("\none\r\ntwo\nthree\n", "one", "two\nthree"),
            ("-u critical\n\n--help", "-u critical", "--help"),
            ("a\0b\u{1b}[31m", "ab[31m", ""),
            (" \n ", "Outlive", ""),
        ] {
            assert_eq!(split(text), (title.to_owned(), body.to_owned()), "{text:?}");
        }
        let (title, body) = split(&format!("{}\n{}", "t".repeat(300), "ü".repeat(5000)));
        assert_eq!(title.chars().count(), MAX_TITLE + 1);
        assert_eq!(body.chars().count(), MAX_BODY + 1);
    }

    #[test]
    fn text_never_acts_as_option_or_markup_or_script() {
        assert_eq!(
            notify_send("-t", "<b>a & b</b> \\n"),
            [
                "--app-name=Outlive",
                "--",
                "-t",
                "&lt;b&gt;a &amp; b&lt;/b&gt; \\\\n"
            ]
        );
        let words = osascript("\" & quit", "-e");
        assert_eq!(words[6..], ["--", "\" & quit", "-e"]);
        assert!(!words[..6].iter().any(|word| word.contains("quit")));
    }
}
