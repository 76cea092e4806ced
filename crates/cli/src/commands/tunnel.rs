//! `outlive place-tunnel`: what couriers start to reach a place that can only run one command.

mod swerex;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::places::tunnel::{self, Execute, Lent, Template};
use outlive::places::{Address, Place, Unreached};
use outlive::{Error, PlaceError};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Carry the connection to a place by single commands; what couriers start
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The place
    place: String,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let place = Place::resolve(&context.outlive, &args.place)?;
    let place = place.ok_or_else(|| Error::from(PlaceError::NoSuch(args.place.clone())))?;
    let why = match carry(context, &place) {
        Ok(why) => why,
        Err(error) => Unreached::NoCourier(error.to_string()),
    };
    // The courier reads it there.
    let text = serde_json::to_string(&why).unwrap_or_default();
    let _ = writeln!(io::stderr(), "{text}");
    Ok(Exit::Success)
}

fn carry(context: &Context, place: &Place) -> io::Result<Unreached> {
    let execute: Arc<dyn Execute> = match &place.address {
        Address::Text(words) => Arc::new(Template::new(words, &place.settings.calls)),
        Address::Caller(name) => match Lent::connect(&context.outlive, name) {
            Ok(lent) => Arc::new(lent),
            Err(why) => return Ok(why),
        },
        Address::Swerex(url) => {
            match swerex::Server::new(url, place.settings.calls.token.as_ref()) {
                Ok(server) => Arc::new(server),
                Err(why) => return Ok(why),
            }
        }
        Address::Ssh(_)
        | Address::Container(_)
        | Address::Instance(_)
        | Address::Image(_)
        | Address::Pod(_)
        | Address::Command(_) => {
            let why = format!("{} is not reached by single commands", place.name);
            return Ok(Unreached::Refused(why));
        }
    };
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(tunnel::run(&context.outlive, place, execute, input, output))
}
