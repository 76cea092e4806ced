//! `outlive courier`: what verbs start to reach a place.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::places::{Place, courier};
use outlive::{Error, PlaceError};

/// Hold the connection to a place; what verbs start
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The place
    place: String,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let place = Place::resolve(&context.outlive, &args.place)?;
    // This machine has no wire.
    let place = place.ok_or_else(|| Error::from(PlaceError::NoSuch(args.place.clone())))?;
    courier::run(&context.outlive, &place)?;
    Ok(Exit::Success)
}
