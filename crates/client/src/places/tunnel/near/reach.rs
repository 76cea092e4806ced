//! Getting our program to a place that can only run commands, and making the first call there.
//!
//! ```text
//!  here                                          there
//!  sh -c 'far.sh, with the request' ───────────► looks for the program
//!            ◄── have DIR, <<outlive … >> ────── … and becomes it: the answer of the request
//!         or ◄── need Linux x86_64 gzip base64 3 DIR
//!  sh -c 'put piece 3 into DIR' ───────────────►
//!            ◄── got 3 ─────────────────────────
//!  …
//!  sh -c 'far.sh, with the request' ───────────► puts the pieces together, and becomes the program
//! ```
//! Every command can be repeated. Pieces that are there are not sent again, so an upload that was broken off goes on with
//! the next attempt. The program checks its digest when it begins.

use super::trouble::{Trouble, Troubles};
use crate::places::bootstrap::{self, Form, Program};
use crate::places::tunnel::base64;
use crate::places::tunnel::execute::Text;
use crate::places::{Place, Unreached};
use crate::random;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::thread;

/// The longest argument that Linux passes on is 128 KiB. What stands around a piece has room besides.
const MAX_TEXT: usize = 96 * 1024;

/// Reaching a place fails sooner than a call on a wire that is in use.
const ATTEMPTS: usize = 4;

/// A command that was run there.
pub type Run<'a> = dyn Fn(&str) -> Result<Text, Trouble> + 'a;

/// The program runs at the place.
#[derive(Debug, PartialEq, Eq)]
pub struct Reached {
    /// Its path there.
    pub program: String,
    /// What the command printed. The answer of the request stands in it, if it arrived.
    pub text: Vec<u8>,
}

/// How a piece becomes bytes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letters {
    Base64,
    /// For machines without `base64`: the shell's own `printf`.
    Octal,
}

/// What the script says.
#[derive(Debug, PartialEq, Eq)]
enum Said<'a> {
    Have(&'a str),
    Need {
        system: &'a str,
        machine: &'a str,
        form: Form,
        letters: Letters,
        /// So many pieces are there.
        pieces: usize,
        directory: &'a str,
    },
    Nowhere(&'a str),
    Got(usize),
}

/// Makes the first call of a tunnel. Sends the program if it is not there.
pub fn reach(
    place: &Place,
    program: &Program,
    request: &str,
    run: &Run<'_>,
) -> Result<Reached, Trouble> {
    let token = random::token().map_err(|error| here(&error.to_string()))?;
    let mut pieces = 0;
    // More than twice, if the pieces that were there are of no use.
    for _ in 0..4 {
        let command = search(place, program, &token, request, pieces);
        let text = again(run, &command, |text| said(text, &token).is_some())?;
        match said(&text, &token) {
            Some(Said::Have(directory)) => {
                let program = format!("{directory}/{}", program.name());
                return Ok(Reached { program, text });
            }
            Some(Said::Need {
                system,
                machine,
                form,
                letters,
                pieces: first,
                directory,
            }) => {
                let is_ours = program.check_machine(system, machine);
                let packed = is_ours.and_then(|()| program.packed(form));
                let upload = Upload {
                    token: &token,
                    parts: format!("{directory}/{}.{}", program.name(), form.as_str()),
                    letters,
                };
                pieces = upload.send(&packed.map_err(Trouble::Final)?, first, run)?;
            }
            Some(Said::Nowhere(tried)) => {
                return Err(Trouble::Final(bootstrap::nowhere(place, tried)));
            }
            Some(Said::Got(_)) | None => return Err(Trouble::Damaged),
        }
    }
    let why = "the program does not stay where it was put";
    Err(Trouble::Final(Unreached::NoProgram(why.to_owned())))
}

fn here(why: &str) -> Trouble {
    Trouble::Final(Unreached::NoCourier(why.to_owned()))
}

/// Runs a command until it has said what is expected.
fn again(
    run: &Run<'_>,
    command: &str,
    is_expected: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, Trouble> {
    let mut troubles = Troubles::default();
    loop {
        let trouble = match run(command) {
            Ok(text) if is_expected(&text.output) => return Ok(text.output),
            Ok(text) => Trouble::Silent(unexpected(&text)),
            Err(trouble) => trouble,
        };
        let pause = troubles.add_of(trouble, ATTEMPTS);
        thread::sleep(pause.map_err(Trouble::Final)?);
    }
}

/// What came in place of what the script says.
fn unexpected(text: &Text) -> String {
    // Its last line.
    match memchr::memmem::find(&text.output, b"say nowhere \"$").is_some() {
        true => "it prints the command and does not run it".to_owned(),
        false => super::trouble::words(&text.remark, &text.output),
    }
}

/// The last whole line of the script in a text.
fn said<'a>(text: &'a [u8], token: &str) -> Option<Said<'a>> {
    let mark = format!("{}-{token} ", bootstrap::MARK);
    let lines = text.split(|byte| *byte == b'\n').rev();
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    // A line without its last word was cut.
    let own = lines.filter_map(|line| {
        line.trim_end()
            .strip_prefix(mark.as_str())?
            .strip_suffix(" ;")
    });
    own.filter_map(parse).next()
}

fn parse(line: &str) -> Option<Said<'_>> {
    let (word, rest) = line.split_once(' ')?;
    match word {
        "have" | "placed" => Some(Said::Have(rest)),
        "nowhere" => Some(Said::Nowhere(rest)),
        "got" => Some(Said::Got(rest.parse().ok()?)),
        "need" => {
            let mut words = rest.splitn(6, ' ');
            let (system, machine) = (words.next()?, words.next()?);
            let form = match words.next()? {
                "gzip" => Form::Gzip,
                _ => Form::Plain,
            };
            let letters = match words.next()? {
                "base64" => Letters::Base64,
                _ => Letters::Octal,
            };
            Some(Said::Need {
                system,
                machine,
                form,
                letters,
                pieces: words.next()?.parse().ok()?,
                directory: words.next()?,
            })
        }
        _ => None,
    }
}

/// The command that looks for the program and becomes it.
fn search(place: &Place, program: &Program, token: &str, request: &str, pieces: usize) -> String {
    let far_dir = place.settings.far_dir.as_deref();
    let far_dir = far_dir.map_or(&b""[..], |path| path.as_os_str().as_bytes());
    let mut script = String::new();
    for (name, value) in [
        ("mark", bootstrap::MARK),
        ("token", token),
        ("digest", &program.digest),
        ("size", &program.size.to_string()),
        ("home", ""),
        ("request", request),
        ("pieces", &pieces.to_string()),
    ] {
        let _ = write!(script, "{name}='{value}';");
    }
    // Nothing that a user has written stands in a command line.
    let _ = write!(script, "far_dir=$(printf '{}');", octal(far_dir));
    shell(&(script + &bootstrap::code()))
}

/// A command of one word for `sh`, so that it does not matter which shell reads it first.
fn shell(script: &str) -> String {
    format!("sh -c {}", quoted(script))
}

/// A word of a command line. A plain one is left as it is, for shells that quote in other ways.
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._@+-".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Bytes as the first argument of `printf`.
fn octal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4);
    for byte in bytes {
        match byte {
            b'%' => text.push_str("%%"),
            letter if letter.is_ascii_alphanumeric() => text.push(char::from(*letter)),
            other => {
                let _ = write!(text, "\\{other:03o}");
            }
        }
    }
    text
}

struct Upload<'a> {
    token: &'a str,
    /// The directory of the pieces there.
    parts: String,
    letters: Letters,
}

impl Upload<'_> {
    /// Sends the pieces from this one on. Returns how many there are in all.
    fn send(&self, packed: &[u8], first: usize, run: &Run<'_>) -> Result<usize, Trouble> {
        let pieces: Vec<&[u8]> = packed.chunks(self.size()).collect();
        for (number, piece) in pieces.iter().enumerate().skip(first) {
            let command = self.command(number, piece);
            let is_there = |text: &[u8]| said(text, self.token) == Some(Said::Got(number));
            again(run, &command, is_there)?;
        }
        Ok(pieces.len())
    }

    /// How many bytes are in a piece.
    fn size(&self) -> usize {
        match self.letters {
            Letters::Base64 => base64::fitting(MAX_TEXT),
            Letters::Octal => MAX_TEXT / 4,
        }
    }

    fn command(&self, number: usize, piece: &[u8]) -> String {
        let (parts, size, token) = (quoted(&self.parts), piece.len(), self.token);
        let write = match self.letters {
            Letters::Base64 => format!("printf %s '{}' | base64 -d", base64::encode(piece)),
            Letters::Octal => format!("printf '{}'", octal(piece)),
        };
        let mark = bootstrap::MARK;
        shell(&format!(
            "parts={parts};part=$parts/{number}.$$;(umask 077;mkdir -p \"$parts\")&&{write} >\"$part\"&&\
             [ $(wc -c <\"$part\") = {size} ]&&mv -f \"$part\" \"$parts/{number}\"&&\
             printf '\\n%s-%s got {number} ;\\n' {mark} {token}"
        ))
    }
}

#[cfg(test)]
mod tests;
