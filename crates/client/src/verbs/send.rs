//! Writes to a job's input.
//!
//! Each piece has an id. If the keeper dies before it answers, the piece is sent again with the same id
//! to the next keeper. So it arrives exactly once.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::{Answer, Connection, PATIENCE};
use crate::jobs::presence::{self, LookResult};
use crate::random;
use crate::screen::Emulation;
use crate::verbs::show;
pub use outlive_api::request::Send;
use outlive_core::control::{MAX_DATA, Reply, Request, Write, WriteId};
use outlive_core::os_text::OsText;
use outlive_core::{Input, JobId};

/// Leaves room in an id for the number of a piece.
pub const MAX_ID: usize = WriteId::MAX - 8;

/// The longest line that a terminal in line mode keeps.
const MAX_LINE_BYTES: usize = 4095;

/// The keeper died while it handled the request, and the job was over before the next keeper could be
/// asked.
const UNANSWERED: &str = "it has ended, and its keeper was killed before it could say whether this was \
     delivered: it may have been";

/// The result of a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Whether all of it was accepted before with the same id, so that nothing was written now. `None`
    /// if that is unknown: the keeper is of the first release, or was killed.
    pub repeated: Option<bool>,
    /// Unexpected consequences that the caller should know.
    pub notes: Vec<String>,
}

/// Sends the input.
pub fn send(outlive: &Outlive, id: &JobId, what: &Send) -> Result<Sent, Error> {
    let bytes = resolve(outlive, id, what)?;
    let mut notes = doubts(outlive, id, &bytes)?;
    let token = match &what.write_id {
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
            data: OsText::from(piece.to_vec()),
            more: number < last,
            eof: what.eof && number == last,
            tells_repeated: true,
        })?);
    }
    let repeated = match what.write_id {
        // This id was generated for this send, so nobody has used it before.
        None => Some(false),
        Some(_) => all_repeated(&written),
    };
    if let (Some(true), Some(write_id)) = (repeated, &what.write_id) {
        notes.clear();
        notes.push(format!(
            "a write with the id \"{}\" was accepted before, so nothing was written now",
            write_id.as_str()
        ));
    }
    Ok(Sent { repeated, notes })
}

/// Whether every piece was accepted before. A single new piece makes it `false`.
fn all_repeated(pieces: &[Option<bool>]) -> Option<bool> {
    match pieces.contains(&Some(false)) {
        true => Some(false),
        false => pieces.iter().all(Option::is_some).then_some(true),
    }
}

/// A long line is only complete for a program that reads lines. Whether the job's program does is known
/// only for the program that reads now.
fn doubts(outlive: &Outlive, id: &JobId, bytes: &[u8]) -> Result<Vec<String>, Error> {
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let is_long = lines.any(|line| line.len() > MAX_LINE_BYTES);
    let looked = match is_long {
        true => Some(presence::look(outlive, id, PATIENCE)?),
        false => None,
    };
    if !matches!(looked, Some(LookResult::Seen(seen)) if seen.line_mode == Some(false)) {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "a line is longer than {MAX_LINE_BYTES} bytes, and its terminal hands over single keys now: a program that puts it back to whole lines before it reads this gets the line cut; send it once that program waits for input"
    )])
}

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Otherwise, a paste that contains its own end marker would have its rest typed.
fn without(text: &[u8], end: &[u8]) -> Vec<u8> {
    let mut left = text.to_vec();
    // Repeat, since removing one marker may create another.
    while let Some(place) = memchr::memmem::find(&left, end) {
        left.drain(place..place + end.len());
    }
    left
}

/// The bytes to write, in the form that the program expects now.
fn resolve(outlive: &Outlive, id: &JobId, what: &Send) -> Result<Vec<u8>, Error> {
    let (_, spec, state) = show::read(outlive, id)?;
    let terminal = matches!(spec.input, Input::Pty(_));
    if spec.input == Input::Pipe && !what.keys.is_empty() {
        return Err(Error::NoKeys(id.clone()));
    }
    // Only the terminal's screen knows what the program asked for.
    let emulation = match terminal && (what.paste || !what.keys.is_empty()) {
        true => Some(Emulation::of(outlive, &spec, &state)?),
        false => None,
    };
    let bracketed = what.paste && emulation.as_ref().is_some_and(Emulation::bracketed_paste);
    let application = emulation
        .as_ref()
        .is_some_and(Emulation::application_cursor);
    let mut bytes = match bracketed {
        true => [
            PASTE_BEGINS,
            &without(what.text.as_bytes(), PASTE_ENDS),
            PASTE_ENDS,
        ]
        .concat(),
        false => what.text.as_bytes().to_vec(),
    };
    if what.enter {
        // The Enter key sends a carriage return. The terminal turns it into a newline if needed.
        bytes.push(if terminal { b'\r' } else { b'\n' });
    }
    for key in &what.keys {
        bytes.extend_from_slice(key.bytes(application));
    }
    Ok(bytes)
}

fn reach_again(
    outlive: &Outlive,
    id: &JobId,
    was_asked: bool,
) -> Result<Option<Connection>, Error> {
    let reached = presence::reach(outlive, id);
    match was_asked {
        true => reached.map_err(presence::sent_before),
        false => reached,
    }
}

/// Writes pieces over one connection, as long as it lasts.
pub(crate) struct Sender<'a> {
    outlive: &'a Outlive,
    id: JobId,
    connection: Option<Connection>,
}

impl<'a> Sender<'a> {
    pub fn new(outlive: &'a Outlive, id: &JobId) -> Sender<'a> {
        Sender {
            outlive,
            id: id.clone(),
            connection: None,
        }
    }

    /// Writes a piece. Returns whether it was accepted before, if that is known.
    pub fn write(&mut self, write: Write) -> Result<Option<bool>, Error> {
        let is_only_end = write.eof && write.data.as_os_str().is_empty();
        let request = Request::Write(write);
        let mut was_asked = false;
        loop {
            let connection = match &mut self.connection {
                Some(connection) => connection,
                none => match reach_again(self.outlive, &self.id, was_asked)? {
                    Some(connection) => none.insert(connection),
                    None if !was_asked => return Err(self.refused("it has ended")),
                    // Its input is closed already, which is all that was requested.
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

    fn refused(&self, reason: &'static str) -> Error {
        Error::Refused {
            id: self.id.clone(),
            reason,
        }
    }
}
