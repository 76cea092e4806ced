//! Output printed as it is read.

use crate::context::Context;
use crate::exit::Failure;
use crate::json;
use outlive::api::log::LogPiece;
use outlive::view::{Live, Origins, ShownText};
use outlive::{Stream, missing_line};
use std::io::{self, Write};
use std::ops::Range;
use std::time::Duration;

pub struct Printer<'a> {
    context: &'a Context,
    form: Form,
    origins: Origins,
}

/// The form in which output is printed.
pub enum Form {
    /// The exact bytes, and nothing for a missing part.
    Raw,
    /// The exact bytes, and a note for a missing part.
    Exact,
    /// The text, line by line as each is finished.
    Plain(Box<Live>),
}

impl Printer<'_> {
    pub fn new(context: &Context, form: Form) -> Printer<'_> {
        Printer {
            context,
            form,
            origins: Origins::default(),
        }
    }

    /// The view that turns the output into text. `None` if the exact bytes are printed.
    pub fn live(&self) -> Option<&Live> {
        match &self.form {
            Form::Plain(live) => Some(live),
            Form::Raw | Form::Exact => None,
        }
    }

    pub fn bytes(&mut self, at: u64, bytes: &[u8], stream: Option<Stream>) -> Result<(), Failure> {
        self.origins.add(at, stream);
        let (context, origins) = (self.context, &mut self.origins);
        match &mut self.form {
            Form::Plain(live) => tell(context, origins, |said| live.push(bytes, said)),
            Form::Raw | Form::Exact if self.context.json => {
                self.context.print_json(&LogPiece::Text {
                    from_byte: at,
                    stream,
                    text: String::from_utf8_lossy(bytes).into_owned(),
                })
            }
            Form::Raw | Form::Exact => write(bytes),
        }
    }

    pub fn missing(&mut self, range: Range<u64>) -> Result<(), Failure> {
        if let Form::Plain(live) = &mut self.form {
            tell(self.context, &mut self.origins, |said| {
                live.missing(range.end, said);
            })?;
        }
        match (&self.form, self.context.json) {
            (_, true) => self.context.print_json(&LogPiece::Dropped {
                dropped_from: range.start,
                dropped_to: range.end,
            }),
            (Form::Raw, false) => Ok(()),
            (Form::Exact | Form::Plain(_), false) => write(missing_line(&range).as_bytes()),
        }
    }

    /// How long to wait for more output before an unfinished line is printed.
    pub fn patience(&mut self) -> Option<Duration> {
        match &mut self.form {
            Form::Plain(live) => live.patience(),
            Form::Raw | Form::Exact => None,
        }
    }

    pub fn still(&mut self) -> Result<(), Failure> {
        match &mut self.form {
            Form::Plain(live) => tell(self.context, &mut self.origins, |said| live.still(said)),
            Form::Raw | Form::Exact => Ok(()),
        }
    }

    pub fn finish(mut self) -> Result<(), Failure> {
        match self.form {
            Form::Plain(live) => tell(self.context, &mut self.origins, |said| live.finish(said)),
            Form::Raw | Form::Exact => Ok(()),
        }
    }
}

/// Prints everything that the view returns at once, in one write.
fn tell(
    context: &Context,
    origins: &mut Origins,
    say: impl FnOnce(&mut dyn FnMut(ShownText<'_>)),
) -> Result<(), Failure> {
    let mut lines = String::new();
    let mut failed = Ok(());
    say(&mut |ShownText { from_byte, text }| match context.json {
        true => {
            let piece = LogPiece::Text {
                from_byte,
                stream: origins.of(from_byte),
                text: text.to_owned(),
            };
            match json::line(&piece) {
                Ok(line) => lines.push_str(&line),
                Err(error) => failed = Err(error),
            }
        }
        false => lines.push_str(text),
    });
    failed?;
    match lines.is_empty() {
        true => Ok(()),
        false => write(lines.as_bytes()),
    }
}

pub fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
