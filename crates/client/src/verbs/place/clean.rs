//! `place clean`: removes programs of other versions at a place.

use super::resolve;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::dial;
use outlive_api::place::PlaceCleaned;
use outlive_core::far::{Answer, Call};

/// Removes the programs of other versions there that keep no job.
pub fn clean(outlive: &Outlive, name: &str) -> Result<PlaceCleaned, Error> {
    let place = resolve(outlive, name)?;
    match dial::call(outlive, &place, Call::Clean, place.settings.reach)? {
        Answer::Cleaned { removed } => Ok(PlaceCleaned {
            name: place.name,
            removed,
        }),
        _ => Err(PlaceError::strange(&place.name).into()),
    }
}
