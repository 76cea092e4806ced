//! Getting our program to a place and starting it, over the one connection that becomes the wire.
//!
//! ```text
//!  here                                   there
//!  starts a transport ──────────────────► sh
//!  eval 'far.sh' ───────────────────────► looks for the program
//!            ◄──── have DIR ───────────── … and becomes it
//!         or ◄──── need Linux x86_64 gzip
//!  LENGTH gzip, bytes ──────────────────► puts it into DIR
//!            ◄──── placed DIR ─────────── … and becomes it
//!  frames ◄─────────────────────────────► the far end
//! ```
//! `far.sh` is plain `sh`. The transport's command line is always the same, so no login shell sees what a user typed.
//! What stands before our first line on the output is the noise of login scripts; it is skipped.
//!
//! | module | owns |
//! |---|---|
//! | `far.sh` | what runs there |
//! | `program` | the program to send: finding it, its digest, making it small |
//! | `talk` | lines and bytes with a deadline |

mod program;
mod talk;

pub use program::{Program, check_own_program};

use super::{Place, Unreached};
use crate::random;
use outlive_core::BootTime;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use talk::Talk;

const SCRIPT: &str = include_str!("far.sh");

/// Each line of the script there begins with this and a random token.
pub(super) const MARK: &str = "outlive-far";

/// Why the far end does not run.
#[derive(Debug)]
pub enum Failure {
    Unreached(Unreached),
    /// The transport ended first. It knows why.
    Ended {
        /// The end of what it wrote.
        noise: String,
    },
}

impl From<Unreached> for Failure {
    fn from(why: Unreached) -> Failure {
        Failure::Unreached(why)
    }
}

/// What the script says.
#[derive(Debug, PartialEq, Eq)]
enum Said<'a> {
    /// The program is there and starts.
    Starts,
    Need {
        system: &'a str,
        machine: &'a str,
        form: Form,
    },
    Nowhere(&'a str),
}

/// How the program is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Gzip,
    /// As it is, where there is no `gzip`.
    Plain,
}

/// Talks to the `sh` behind these two ends, until it has become the program.
pub fn run(
    input: &mut File,
    output: &mut File,
    place: &Place,
    program: &Program,
    by: BootTime,
) -> Result<(), Failure> {
    let token = random::token().map_err(|error| Unreached::NoCourier(error.to_string()))?;
    let mut talk = Talk::new(input, output, mark(&token), by);
    talk.send(&script(place, program, &token))?;
    loop {
        let line = talk.next_line()?;
        match parse(&line) {
            Some(Said::Starts) => return talk.finish(),
            Some(Said::Need {
                system,
                machine,
                form,
            }) => {
                program.check_machine(system, machine)?;
                let bytes = program.packed(form)?;
                let head = format!("{} {}\n", bytes.len(), form.as_str());
                talk.send(head.as_bytes())?;
                talk.send(&bytes)?;
            }
            Some(Said::Nowhere(tried)) => return Err(nowhere(place, tried).into()),
            None => {
                let why = format!("the shell there said what it cannot: {line:?}");
                return Err(Unreached::NotUnderstood(why).into());
            }
        }
    }
}

/// Waits until the program says that it has started, which was told to say so with this token.
pub fn wait_for_start(
    input: &mut File,
    output: &mut File,
    token: &str,
    by: BootTime,
) -> Result<(), Failure> {
    let mut talk = Talk::new(input, output, mark(token), by);
    let line = talk.next_line()?;
    match parse(&line) {
        Some(Said::Starts) => talk.finish(),
        _ => {
            let why = format!("the program there said what it cannot: {line:?}");
            Err(Unreached::NotUnderstood(why).into())
        }
    }
}

/// Says what [`wait_for_start`] waits for: this process is the program.
pub fn say_started(token: &str) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "\n{} have", mark(token))?;
    output.flush()
}

/// What each line begins with that is ours.
fn mark(token: &str) -> String {
    format!("{MARK}-{token}")
}

impl Form {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Form::Gzip => "gzip",
            Form::Plain => "plain",
        }
    }
}

fn parse(line: &str) -> Option<Said<'_>> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "have" | "placed" => Some(Said::Starts),
        "nowhere" => Some(Said::Nowhere(rest)),
        "need" => {
            let mut words = rest.split(' ');
            let (system, machine) = (words.next()?, words.next()?);
            let form = match words.next()? {
                "gzip" => Form::Gzip,
                _ => Form::Plain,
            };
            Some(Said::Need {
                system,
                machine,
                form,
            })
        }
        _ => None,
    }
}

pub(super) fn nowhere(place: &Place, tried: &str) -> Unreached {
    let tried = outlive_core::quote::line(tried);
    let fix = match &place.settings.far_dir {
        None => "name another one with `far_dir` in the configuration of the place",
        Some(_) => "make one of them usable",
    };
    Unreached::NoProgram(format!(
        "no directory there takes our program: {tried}; {fix}"
    ))
}

/// The line that the shell there reads: what it must know, then the script.
fn script(place: &Place, program: &Program, token: &str) -> Vec<u8> {
    let settings = &place.settings;
    let path = |path: &Option<_>| path.as_deref().map_or(&b""[..], as_bytes).to_vec();
    let mut line = Vec::new();
    for (name, value) in [
        ("mark", MARK.as_bytes().to_vec()),
        ("token", token.as_bytes().to_vec()),
        ("digest", program.digest.as_bytes().to_vec()),
        ("size", program.size.to_string().into_bytes()),
        ("home", path(&place.far_home())),
        ("far_dir", path(&settings.far_dir)),
        ("request", Vec::new()),
    ] {
        line.extend_from_slice(name.as_bytes());
        line.push(b'=');
        push_quoted(&mut line, &value);
        line.push(b';');
    }
    line.extend_from_slice(b"eval ");
    push_quoted(&mut line, code().as_bytes());
    line.push(b'\n');
    line
}

/// The script as it is sent: comments are for those who read it here.
pub(super) fn code() -> String {
    let is_code = |line: &&str| !line.is_empty() && !line.trim_start().starts_with('#');
    let code: Vec<&str> = SCRIPT.lines().filter(is_code).collect();
    code.join("\n")
}

fn as_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A word as `sh` reads it literally.
fn push_quoted(line: &mut Vec<u8>, word: &[u8]) {
    line.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => line.extend_from_slice(br"'\''"),
            other => line.push(*other),
        }
    }
    line.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_any_shell() {
        let mut quoted = Vec::new();
        push_quoted(&mut quoted, b"it's $HOME `x` \\ \n\xff");
        assert_eq!(quoted, b"'it'\\''s $HOME `x` \\ \n\xff'");
    }

    #[test]
    fn lines_of_the_script_are_read() {
        let need = Said::Need {
            system: "Linux",
            machine: "x86_64",
            form: Form::Gzip,
        };
        assert_eq!(parse("need Linux x86_64 gzip"), Some(need));
        assert_eq!(parse("have /a b"), Some(Said::Starts));
        assert_eq!(parse("nowhere x y"), Some(Said::Nowhere("x y")));
        for text in ["", "need", "need Linux", "hav", "need Linux x86_64"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
