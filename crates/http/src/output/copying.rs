//! Copies an output into an answer, in one of several forms.

use crate::body::{Gone, Writer};
use outlive::api::log::LogPiece;
use outlive::listening::Following;
use outlive::verbs::log::Log;
use outlive::view::{Live, Origins, ShownText};
use outlive::{Chunk, Outlive, Piece, Stream, missing_line};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// The form in which output is written.
#[derive(Debug)]
pub enum Form {
    /// The bytes that are kept, and nothing else.
    Exact,
    /// The text, line by line as each is finished.
    Text(Box<Live>),
    /// A `LogPiece` with the bytes as text on each line.
    Pieces,
    /// A `LogPiece` on each line.
    TextPieces(Box<Live>),
}

impl Form {
    pub fn text(live: Live) -> Form {
        Form::Text(Box::new(live))
    }
}

/// A copy ended early: nobody reads any more, or the output cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

impl From<Gone> for Cut {
    fn from(_: Gone) -> Cut {
        Cut
    }
}

impl From<io::Error> for Cut {
    fn from(_: io::Error) -> Cut {
        Cut
    }
}

impl From<outlive::Error> for Cut {
    fn from(_: outlive::Error) -> Cut {
        Cut
    }
}

/// A copy in progress.
#[derive(Debug)]
pub struct Copy {
    form: Form,
    origins: Origins,
    writer: Writer,
}

impl Copy {
    pub fn new(form: Form, writer: Writer) -> Copy {
        Copy {
            form,
            origins: Origins::default(),
            writer,
        }
    }

    /// Copies exactly these bytes.
    pub fn range(&mut self, log: &Log, range: Range<u64>) -> Result<(), Cut> {
        for piece in log.pieces_of(range)? {
            self.piece(piece?)?;
        }
        Ok(())
    }

    /// Copies the part.
    pub fn part(&mut self, log: &Log) -> Result<(), Cut> {
        let pieces: Box<dyn Iterator<Item = io::Result<Piece>>> = match self.live() {
            Some(live) => Box::new(log.pieces_for(live)),
            None => Box::new(log.pieces()?),
        };
        for piece in pieces {
            self.piece(piece?)?;
        }
        Ok(())
    }

    /// What comes after the part.
    pub fn following(&self, outlive: &Outlive, log: &Log) -> Result<Following, Cut> {
        Ok(log.following(outlive, self.live())?)
    }

    /// Copies a chunk of what came after it. Returns whether more may come.
    pub fn chunk(&mut self, chunk: Chunk) -> Result<bool, Cut> {
        match chunk {
            Chunk::Bytes { at, bytes, stream } => self.bytes(at, bytes, stream)?,
            Chunk::Missing(range) => self.missing(range)?,
            Chunk::Ended | Chunk::OutOfTime => {
                self.finish()?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How long to wait for more before [`still`](Copy::still).
    pub fn patience(&mut self) -> Option<Duration> {
        self.live_mut().and_then(Live::patience)
    }

    /// Breaks the answer off, so that nobody takes it for a whole one.
    pub fn cut(&self) {
        self.writer.cut();
    }

    /// Waits until nobody reads any more.
    pub async fn gone(&self) {
        self.writer.gone().await;
    }

    fn live(&self) -> Option<&Live> {
        match &self.form {
            Form::Text(live) | Form::TextPieces(live) => Some(live),
            Form::Exact | Form::Pieces => None,
        }
    }

    fn live_mut(&mut self) -> Option<&mut Live> {
        match &mut self.form {
            Form::Text(live) | Form::TextPieces(live) => Some(live),
            Form::Exact | Form::Pieces => None,
        }
    }

    fn piece(&mut self, piece: Piece) -> Result<(), Cut> {
        match piece {
            Piece::Bytes { at, bytes, stream } => self.bytes(at, bytes, stream),
            Piece::Missing(range) => self.missing(range),
        }
    }

    fn bytes(&mut self, at: u64, bytes: Vec<u8>, stream: Option<Stream>) -> Result<(), Cut> {
        self.origins.add(at, stream);
        match &self.form {
            Form::Exact => Ok(self.writer.write(bytes)?),
            Form::Pieces => self.line(&LogPiece::Text {
                from_byte: at,
                stream,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            }),
            Form::Text(_) | Form::TextPieces(_) => self.tell(|live, say| live.push(&bytes, say)),
        }
    }

    fn missing(&mut self, range: Range<u64>) -> Result<(), Cut> {
        self.tell(|live, say| live.missing(range.end, say))?;
        match &self.form {
            Form::Exact => Ok(()),
            Form::Text(_) => Ok(self.writer.write(missing_line(&range))?),
            Form::Pieces | Form::TextPieces(_) => self.line(&LogPiece::Dropped {
                dropped_from: range.start,
                dropped_to: range.end,
            }),
        }
    }

    /// Nothing came for a moment: shows an unfinished line.
    pub fn still(&mut self) -> Result<(), Cut> {
        self.tell(|live, say| live.still(say))
    }

    /// No more will come.
    pub fn finish(&mut self) -> Result<(), Cut> {
        let form = std::mem::replace(&mut self.form, Form::Exact);
        let mut shown = Vec::new();
        let (live, is_text) = match form {
            Form::Text(live) => (live, true),
            Form::TextPieces(live) => (live, false),
            Form::Exact | Form::Pieces => return Ok(()),
        };
        live.finish(&mut |said| shown.push((said.from_byte, said.text.to_owned())));
        self.write(shown, is_text)
    }

    /// Writes what the view shows, if there is one.
    fn tell(
        &mut self,
        show: impl FnOnce(&mut Live, &mut dyn FnMut(ShownText<'_>)),
    ) -> Result<(), Cut> {
        let is_text = matches!(self.form, Form::Text(_));
        let mut shown = Vec::new();
        let Some(live) = self.live_mut() else {
            return Ok(());
        };
        show(live, &mut |said| {
            shown.push((said.from_byte, said.text.to_owned()))
        });
        self.write(shown, is_text)
    }

    fn write(&mut self, shown: Vec<(u64, String)>, is_text: bool) -> Result<(), Cut> {
        let mut written = Vec::new();
        for (from_byte, text) in shown {
            if is_text {
                written.extend(text.into_bytes());
                continue;
            }
            let stream = self.origins.of(from_byte);
            let piece = LogPiece::Text {
                from_byte,
                stream,
                text,
            };
            written.extend(encoded(&piece)?);
        }
        match written.is_empty() {
            true => Ok(()),
            false => Ok(self.writer.write(written)?),
        }
    }

    fn line(&self, piece: &LogPiece) -> Result<(), Cut> {
        Ok(self.writer.write(encoded(piece)?)?)
    }
}

fn encoded(piece: &LogPiece) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(piece)?;
    line.push(b'\n');
    Ok(line)
}
