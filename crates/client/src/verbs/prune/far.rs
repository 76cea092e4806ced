//! Removes a job at its place, before it is removed here.

use super::Pass;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, Away};
use crate::places::records::{Placed, Start};
use crate::places::{Unreached, dial};
use outlive_core::far::{Answer, Call};
use outlive_core::place::LOCAL;
use outlive_core::{JobDir, Spec};
use std::collections::BTreeMap;

/// The places that were not reached in this run. They are not tried for each of their jobs.
#[derive(Clone, Debug, Default)]
pub struct Silent(BTreeMap<String, Unreached>);

/// Removes the job at its place, if it has one and may be there.
pub fn remove(
    outlive: &Outlive,
    dir: &JobDir,
    spec: &Spec,
    pass: &Pass<'_>,
    silent: &mut Silent,
) -> Result<(), Error> {
    if spec.place == LOCAL || !may_be_there(dir) {
        return Ok(());
    }
    let away = Away {
        place: spec.place.clone(),
    };
    if let Some(why) = silent.0.get(&away.place) {
        return Err(unreached(&away, why));
    }
    let place = away::resolve(outlive, &away)?;
    let asked = Call::Remove {
        jobs: vec![spec.id.clone()],
    };
    let within = match pass.patience.is_zero() {
        true => pass.patience,
        false => place.settings.reach,
    };
    match dial::call(outlive, &place, asked, within) {
        Ok(Answer::Removed { left }) => match left.into_iter().next() {
            None => Ok(()),
            Some((_, message)) => Err(PlaceError::Refused {
                place: place.name,
                code: "refused".to_owned(),
                message,
            }
            .into()),
        },
        Ok(_) => Err(PlaceError::strange(&place.name).into()),
        Err(Error::Place(PlaceError::Unreached { why, .. })) => {
            silent.0.insert(away.place.clone(), why.clone());
            Err(unreached(&away, &why))
        }
        Err(error) => Err(error),
    }
}

/// A job that was never started there, or whose place is gone for good, needs nobody there.
fn may_be_there(dir: &JobDir) -> bool {
    let placed = Placed::read(dir);
    let start = placed.as_ref().map(Placed::start);
    !matches!(start, Ok(Start::NotStarted(_) | Start::Lost(_)))
}

fn unreached(away: &Away, why: &Unreached) -> Error {
    PlaceError::Unreached {
        place: away.place.clone(),
        why: why.clone(),
    }
    .into()
}
