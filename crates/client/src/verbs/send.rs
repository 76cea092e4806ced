//! Write to a job's input.
//!
//! Each piece has an id, and a piece whose keeper died before it answered is sent again under the
//! same id to whoever keeps the job now: it arrives once.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::{Answer, PATIENCE};
use crate::jobs::presence::{self, LookResult};
use crate::random;
use crate::screen::Emulation;
use crate::screen::keys::Key;
use crate::verbs::show;
use outlive_core::control::{MAX_DATA, Reply, Request, Write, WriteId};
use outlive_core::os_text::OsText;
use outlive_core::{Input, JobId};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// What to write, in this order: text, keys, the end.
#[derive(Clone, Debug, Default)]
pub struct Send {
    /// The text, byte for byte.
    pub text: Vec<u8>,
    /// The text is pasted: a program that asked to know is told.
    pub paste: bool,
    /// Press Enter after it.
    pub enter: bool,
    /// Then press these keys.
    pub keys: Vec<Key>,
    /// Then end the input.
    pub eof: bool,
    /// A second send with this id writes nothing.
    pub id: Option<WriteId>,
}

/// Room is left in an id for the number of a piece.
pub const MAX_ID: usize = WriteId::MAX - 8;

/// What a terminal that hands over whole lines keeps of one.
const LONGEST_LINE: usize = 4095;

/// The keeper died over it, and its heir had nothing left to keep by the time it was asked again.
const UNANSWERED: &str = "it has ended, and its keeper was killed before it could say whether this was \
     delivered: it may have been";

/// What came of a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Whether all of it had been accepted before under the same id, so that nothing was written now. `None` where
    /// nobody can tell: a keeper of the first release, or one that was killed over it.
    pub repeated: Option<bool>,
    /// What may come of it otherwise than a reader of the call would expect.
    pub notes: Vec<String>,
}

/// Sends it.
pub fn send(outlive: &Outlive, id: &JobId, what: &Send) -> Result<Sent, Error> {
    let bytes = resolve(outlive, id, what)?;
    let mut notes = doubts(outlive, id, &bytes)?;
    let token = match &what.id {
        Some(token) => token.as_str().to_owned(),
        None => random::token()?,
    };
    let mut pieces: Vec<&[u8]> = bytes.chunks(MAX_DATA).collect();
    if pieces.is_empty() {
        pieces.push(b"");
    }
    let last = pieces.len() - 1;
    let mut sender = Sender::new(outlive, id);
    let mut written = Vec::new();
    for (number, piece) in pieces.into_iter().enumerate() {
        let name = if number == 0 {
            token.clone()
        } else {
            format!("{token}#{number}")
        };
        written.push(sender.write(Write {
            id: WriteId::parse(&name)?,
            data: OsText(OsString::from_vec(piece.to_vec())),
            more: number < last,
            eof: what.eof && number == last,
            tells_repeated: true,
        })?);
    }
    let repeated = match what.id {
        // Nobody else has used an id that was made for this send.
        None => Some(false),
        Some(_) => all_repeated(&written),
    };
    if let (Some(true), Some(write_id)) = (repeated, &what.id) {
        notes.clear();
        notes.push(format!(
            "a write with the id \"{}\" was accepted before, so nothing was written now",
            write_id.as_str()
        ));
    }
    Ok(Sent { repeated, notes })
}

/// Whether every piece of a write was accepted before; one that was not decides.
fn all_repeated(pieces: &[Option<bool>]) -> Option<bool> {
    match pieces.contains(&Some(false)) {
        true => Some(false),
        false => pieces.iter().all(Option::is_some).then_some(true),
    }
}

/// A long line is typed so that it is whole for a program that reads lines. Whether one does is known
/// only of the one that reads now.
fn doubts(outlive: &Outlive, id: &JobId, bytes: &[u8]) -> Result<Vec<String>, Error> {
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let is_long = lines.any(|line| line.len() > LONGEST_LINE);
    let looked = match is_long {
        true => Some(presence::look(outlive, id, PATIENCE)?),
        false => None,
    };
    if !matches!(looked, Some(LookResult::Seen(seen)) if seen.line_mode == Some(false)) {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "a line is longer than {LONGEST_LINE} bytes, and its terminal hands over single keys now: a program that puts it back to whole lines before it reads this gets the line cut; send it once that program waits (`outlive wait {id} --for input`)"
    )])
}

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// A paste that held its own end would have the rest of it typed.
fn without(text: &[u8], end: &[u8]) -> Vec<u8> {
    let mut left = text.to_vec();
    // Again, since taking one out may join another.
    while let Some(place) = memchr::memmem::find(&left, end) {
        left.drain(place..place + end.len());
    }
    left
}

/// The bytes to write, as the program wants to read them now.
fn resolve(outlive: &Outlive, id: &JobId, what: &Send) -> Result<Vec<u8>, Error> {
    let (_, spec, state) = show::read(outlive, id)?;
    let terminal = matches!(spec.input, Input::Pty(_));
    if spec.input == Input::Pipe && !what.keys.is_empty() {
        return Err(Error::Refused {
            id: id.clone(),
            reason: "its input is a pipe, which has no keys; send text, or start it with --pty"
                .to_owned(),
        });
    }
    // Only a terminal's screen knows what a program has asked for.
    let emulation = match terminal && (what.paste || !what.keys.is_empty()) {
        true => Some(Emulation::of(outlive, &spec, &state)?),
        false => None,
    };
    let bracketed = what.paste && emulation.as_ref().is_some_and(Emulation::bracketed_paste);
    let application = emulation
        .as_ref()
        .is_some_and(Emulation::application_cursor);
    let mut bytes = match bracketed {
        true => [PASTE_BEGINS, &without(&what.text, PASTE_ENDS), PASTE_ENDS].concat(),
        false => what.text.clone(),
    };
    if what.enter {
        // The key on a terminal is a carriage return, which it makes a newline where one is wanted.
        bytes.push(if terminal { b'\r' } else { b'\n' });
    }
    for key in &what.keys {
        bytes.extend_from_slice(key.bytes(application));
    }
    Ok(bytes)
}

/// Writes pieces over one connection, as long as that lasts.
pub(crate) struct Sender<'a> {
    outlive: &'a Outlive,
    id: JobId,
    connection: Option<crate::jobs::connection::Connection>,
}

impl<'a> Sender<'a> {
    pub fn new(outlive: &'a Outlive, id: &JobId) -> Sender<'a> {
        Sender {
            outlive,
            id: id.clone(),
            connection: None,
        }
    }

    /// Writes a piece; says whether it had been accepted before, where that is known.
    pub fn write(&mut self, write: Write) -> Result<Option<bool>, Error> {
        let is_only_end = write.eof && write.data.as_os_str().is_empty();
        let request = Request::Write(write);
        let mut was_asked = false;
        loop {
            let connection = match &mut self.connection {
                Some(connection) => connection,
                none => match presence::reach(self.outlive, &self.id)? {
                    Some(connection) => none.insert(connection),
                    None if !was_asked => return Err(self.refused("it has ended")),
                    // Its input is over, which is all that was asked for.
                    None if is_only_end => return Ok(None),
                    None => return Err(self.refused(UNANSWERED)),
                },
            };
            let is_first = !was_asked;
            was_asked = true;
            match presence::ask(self.outlive, &self.id, connection, &request)? {
                Answer::Reply(Reply::Written) => return Ok(None),
                // A piece that is sent again may be known from the first time.
                Answer::Reply(Reply::Accepted { repeated }) => {
                    return Ok((is_first || !repeated).then_some(repeated));
                }
                Answer::Reply(_) => return Err(Error::NoAnswer(self.id.clone())),
                Answer::KeeperGone => self.connection = None,
            }
        }
    }

    fn refused(&self, reason: &str) -> Error {
        Error::Refused {
            id: self.id.clone(),
            reason: reason.to_owned(),
        }
    }
}
