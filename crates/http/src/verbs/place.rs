//! `place list | check | add | remove | clean`. A login (`place connect`) needs the terminal of a person.

use super::doctor::Nothing;
use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::place;
use outlive_api::place::{PlaceAdded, PlaceChecks, PlaceCleaned, PlaceList, PlaceRemoved};
use outlive_api::request::AddPlace;
use outlive_api::rpc::{CheckPlaces, OfPlace, RemovePlace};

macro_rules! place_verb {
    ($verb:ident, $name:literal, $about:literal, $needs:ident, $request:ty, $reply:ty, $call:expr) => {
        pub struct $verb;

        impl Verb for $verb {
            type Request = $request;
            type Reply = $reply;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const NEEDS: Needs = Needs::$needs;

            fn call(call: &Call, asked: $request) -> Result<$reply, Refused> {
                let work: fn(&outlive::Outlive, $request) -> Result<$reply, outlive::Error> = $call;
                Ok(work(&call.visit.outlive, asked)?)
            }
        }
    };
}

place_verb!(
    List,
    "place/list",
    "List the places where jobs can run.",
    Look,
    Nothing,
    PlaceList,
    |outlive, _| { place::list(outlive) }
);
place_verb!(
    Check,
    "place/check",
    "Reach places, and say what is there.",
    Owner,
    CheckPlaces,
    PlaceChecks,
    |outlive, asked| { place::check(outlive, &asked.places) }
);
place_verb!(
    Add,
    "place/add",
    "Give a place a name, in the configuration.",
    Owner,
    AddPlace,
    PlaceAdded,
    |outlive, asked| { place::add(outlive, &asked) }
);
place_verb!(
    Remove,
    "place/remove",
    "Remove a place from the configuration.",
    Owner,
    RemovePlace,
    PlaceRemoved,
    |outlive, asked| { place::remove(outlive, &asked.place, asked.forget) }
);
place_verb!(
    Clean,
    "place/clean",
    "Remove what Outlive has installed at a place.",
    Owner,
    OfPlace,
    PlaceCleaned,
    |outlive, asked| { place::clean(outlive, &asked.place) }
);
