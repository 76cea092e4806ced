//! `outlive place lend`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::places::lend::lend;
use outlive::places::lend::protocol::{Offer, Told, VERSION};
use outlive::{Error, Label, PlaceError};
use serde::Serialize;
use std::io::{self, BufRead, Write};

/// Lend a sandbox that this program's caller has, so that jobs can run in it
///
/// For harnesses: prints each command that is to be executed there as a line of JSON, and reads lines with what they
/// printed, until standard input ends. Meanwhile caller:NAME is a place. docs/places.md describes the lines.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the sandbox: jobs run at the place caller:NAME
    #[arg(value_parser = Label::parse)]
    name: Label,
    /// Commands can have a standard input, so that values of variables never stand in arguments there
    #[arg(long)]
    input: bool,
    /// One command is executed at a time, so none should wait there for long
    #[arg(long)]
    serial: bool,
}

/// The first line.
#[derive(Serialize)]
struct Lent<'a> {
    lent: Place<'a>,
}

#[derive(Serialize)]
struct Place<'a> {
    place: &'a str,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let offer = Offer {
        version: VERSION,
        input: args.input,
        serial: args.serial,
    };
    // Somebody may wait for this place and ask at once, but the first line says that it is lent.
    let mut output = io::stdout().lock();
    let ask = |asked| say(&mut io::stdout().lock(), &asked);
    let lending = lend(&context.outlive, &args.name, offer, ask)?;
    let place = format!("caller:{}", args.name);
    let lent = Place { place: &place };
    say(&mut output, &Lent { lent });
    drop(output);
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|source| Error::Io {
            what: "cannot read",
            path: "standard input".into(),
            source,
        })?;
        match serde_json::from_str(&line) {
            Ok(Told::Result(done)) => lending.answer(done),
            Ok(Told::Lends(_)) => {}
            Err(error) => return Err(Error::from(PlaceError::NotAnswer(error.to_string())).into()),
        }
    }
    Ok(Exit::Success)
}

/// One line. Who does not read it has gone, which the end of the input tells.
fn say(output: &mut impl Write, what: &impl Serialize) {
    let mut line = serde_json::to_vec(what).unwrap_or_default();
    line.push(b'\n');
    let _ = output.write_all(&line).and_then(|()| output.flush());
}
