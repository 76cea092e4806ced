//! The home, its places, and this machine.

use super::{Call, Refused};
use outlive::api::reply::PruneReply;
use outlive::api::request::{AddPlace, Prune};
use outlive::api::rpc::{CheckPlaces, OfPlace, RemovePlace};
use outlive::verbs::{doctor, place, prune};

pub fn prune(call: &Call) -> Result<(), Refused> {
    let asked: Prune = call.read()?;
    let pruned = prune::prune(&call.outlive, &asked)?;
    let failed = pruned.failed.iter();
    let mut notes: Vec<String> = failed
        .map(|(id, why)| format!("{id} was not removed: {why}"))
        .collect();
    let unreadable = pruned.unreadable.iter();
    notes.extend(unreadable.map(|(id, why)| format!("{id} was kept: {why}")));
    notes.extend(pruned.unfinished.iter().cloned());
    call.answer_with(PruneReply::from(pruned), notes)
}

pub fn doctor(call: &Call) -> Result<(), Refused> {
    call.answer(doctor::doctor(&call.outlive)?)
}

pub fn place_list(call: &Call) -> Result<(), Refused> {
    call.answer(place::list(&call.outlive)?)
}

pub fn place_check(call: &Call) -> Result<(), Refused> {
    let CheckPlaces { places } = call.read()?;
    call.answer(place::check(&call.outlive, &places)?)
}

pub fn place_add(call: &Call) -> Result<(), Refused> {
    let asked: AddPlace = call.read()?;
    call.answer(place::add(&call.outlive, &asked)?)
}

pub fn place_remove(call: &Call) -> Result<(), Refused> {
    let RemovePlace { place, forget } = call.read()?;
    call.answer(place::remove(&call.outlive, &place, forget)?)
}

pub fn place_clean(call: &Call) -> Result<(), Refused> {
    let OfPlace { place } = call.read()?;
    call.answer(place::clean(&call.outlive, &place)?)
}
