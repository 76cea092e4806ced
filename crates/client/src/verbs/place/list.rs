//! `place list`: what is known of the places, without asking any of them.

use super::jobs;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::places::{Place, dial};
use outlive_api::os_text::OsText;
use outlive_api::place::{Contact, PlaceList, PlaceSilence, PlaceStatus};
use std::collections::BTreeSet;

/// The places of the configuration, and those that have jobs without being configured.
pub fn list(outlive: &Outlive) -> Result<PlaceList, Error> {
    let config = outlive.config()?;
    let mut jobs = jobs(outlive)?;
    let names: BTreeSet<String> = config.places.keys().chain(jobs.keys()).cloned().collect();
    let places = names.into_iter().map(|name| {
        let place = match config.places.get(&name) {
            Some(place) => Some(place.clone()),
            None => Place::resolve(outlive, &name).ok().flatten(),
        };
        let jobs = jobs.remove(&name).unwrap_or_default();
        let known = place.as_ref().and_then(|place| dial::known(outlive, place));
        let unreachable = known.as_ref().and_then(|known| known.unreached.clone());
        PlaceStatus {
            name,
            address: place.map(|place| place.address.to_string()),
            contact: match (&known, &unreachable) {
                (None, _) => Contact::Never,
                (Some(_), None) => Contact::Reached,
                (Some(_), Some(_)) => Contact::Unreachable,
            },
            heard_at: known.map(|known| known.heard_at.into()),
            unreachable: unreachable.map(|silence| PlaceSilence {
                since: silence.since.into(),
                reason: silence.why,
            }),
            jobs: jobs.all.len() as u64,
            running: jobs.running.len() as u64,
        }
    });
    Ok(PlaceList {
        places: places.collect(),
        file: config.file.map(OsText::from),
    })
}
