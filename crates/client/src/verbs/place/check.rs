//! `place check`: reaches a place, and says what is less there than here.

use super::resolve;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::{Place, dial};
use crate::verbs::doctor::doctor;
use outlive_api::failure::Failure;
use outlive_api::place::{PlaceAnswer, PlaceCheck, PlaceChecks};
use outlive_api::reply::{Check, DoctorReply, Verdict};
use outlive_core::far::{Answer, Call};
use outlive_core::place::Address;
use std::time::Instant;

/// Reaches these places, or all that are configured. A place that is not reached is part of the answer.
pub fn check(outlive: &Outlive, places: &[String]) -> Result<PlaceChecks, Error> {
    let places: Vec<Place> = match places {
        // A container of an image exists as long as its job.
        [] => {
            let all = outlive.config()?.places.into_values();
            all.filter(|place| !matches!(place.address, Address::Image(_)))
                .collect()
        }
        names => {
            let places = names.iter().map(|name| resolve(outlive, name));
            places.collect::<Result<_, _>>()?
        }
    };
    let here = doctor(outlive)?;
    let checks = places.iter().map(|place| {
        let asked = ask(outlive, place, &here);
        PlaceCheck {
            name: place.name.clone(),
            address: place.address.to_string(),
            error: asked.as_ref().err().map(failure),
            answer: asked.ok(),
        }
    });
    Ok(PlaceChecks {
        places: checks.collect(),
    })
}

/// The name of the place stands beside it, and nothing was to be sent.
fn failure(error: &Error) -> Failure {
    let failure = error.failure();
    match error {
        Error::Place(PlaceError::Unreached { why, .. }) => Failure {
            message: why.to_string(),
            ..failure
        },
        _ => failure,
    }
}

fn ask(outlive: &Outlive, place: &Place, here: &DoctorReply) -> Result<PlaceAnswer, Error> {
    let within = place.settings.reach;
    let greeting = dial::greet(outlive, place, within)?;
    let round_trip_us = round_trip(outlive, place)?;
    let there = match dial::call(outlive, place, Call::Doctor, within)? {
        Answer::Doctor(value) => serde_json::from_value::<DoctorReply>(value).ok(),
        _ => None,
    };
    let there = there.ok_or_else(|| PlaceError::strange(&place.name))?;
    Ok(PlaceAnswer {
        host: greeting.instance.host,
        user: greeting.user,
        system: greeting.system,
        home: greeting.instance.root,
        directory: greeting.login_directory,
        round_trip_us,
        less: less(here, there),
        notes: greeting.notes,
    })
}

/// The shortest of a few, because the first may find everything asleep.
fn round_trip(outlive: &Outlive, place: &Place) -> Result<u64, Error> {
    const TIMES: usize = 3;
    let mut shortest = u64::MAX;
    for _ in 0..TIMES {
        let begun = Instant::now();
        let nothing = Call::Standing { jobs: Vec::new() };
        dial::call(outlive, place, nothing, place.settings.reach)?;
        shortest = shortest.min(begun.elapsed().as_micros() as u64);
    }
    Ok(shortest)
}

/// What keeps jobs from running there, and what is less there than here.
fn less(here: &DoctorReply, there: DoctorReply) -> Vec<Check> {
    let is_good_here = |name: &str| {
        let same = here.checks.iter().find(|check| check.name == name);
        same.is_none_or(|check| check.verdict == Verdict::Good)
    };
    let checks = there.checks.into_iter();
    let less = checks.filter(|check| match check.verdict {
        Verdict::Good => false,
        Verdict::Less => is_good_here(&check.name),
        Verdict::Broken => true,
    });
    less.collect()
}
