//! The doorbells of a job of a place: `--on-end` rings there, by the keeper, and the configured ones ring here, by the
//! courier, which notes it in `placed`.

use crate::clock;
use crate::doorbell::ON_END;
use crate::places::records::{FORGOTTEN, Placed, PlacedStep, Start};
use outlive_core::doorbell::{self, Doorbell, RingState};
use outlive_core::place::LOCAL;
use outlive_core::{JobDir, Spec, State};

/// How it is with a doorbell of an ended job; `None` if it does not ring for this outcome.
pub fn standing(dir: &JobDir, spec: &Spec, state: &State, bell: &Doorbell) -> Option<RingState> {
    if spec.place == LOCAL {
        return doorbell::standing(state, bell, clock::boot());
    }
    if bell.name == ON_END {
        return of_the_place(dir, spec, state, bell);
    }
    if !bell.on.rings_for(&state.end()?.outcome) {
        return None;
    }
    let placed = Placed::read(dir).unwrap_or_default();
    let tries = placed.steps.iter().filter_map(|step| match step {
        PlacedStep::Rung {
            doorbell, failure, ..
        } if *doorbell == bell.name => Some(failure.clone()),
        _ => None,
    });
    let tries: Vec<Option<String>> = tries.collect();
    Some(match tries.last().cloned() {
        Some(None) => RingState::Rung,
        // Nobody rings for it any more.
        last if placed.start() == Start::Lost(FORGOTTEN) => RingState::GivenUp {
            failure: last.flatten().unwrap_or_else(|| FORGOTTEN.to_owned()),
        },
        None => RingState::Waiting {
            at: clock::boot(),
            failure: None,
        },
        Some(Some(failure)) => match doorbell::next_try(tries.len() as u32, clock::boot()) {
            Some(at) => RingState::Waiting {
                at,
                failure: Some(failure),
            },
            None => RingState::GivenUp { failure },
        },
    })
}

/// A doorbell that rings at the place. Where the job never was, or is not heard of any more, nobody rings it.
fn of_the_place(dir: &JobDir, spec: &Spec, state: &State, bell: &Doorbell) -> Option<RingState> {
    let standing = doorbell::standing(state, bell, clock::boot())?;
    let place = &spec.place;
    Some(
        match (Placed::read(dir).unwrap_or_default().start(), standing) {
            (_, RingState::Rung) => RingState::Rung,
            (Start::NotStarted(_), _) => RingState::GivenUp {
                failure: format!("it rings at {place}, and the job was not started there"),
            },
            (Start::Lost(why), _) => RingState::GivenUp {
                failure: format!("it rings at {place}, of which nothing more is heard: {why}"),
            },
            (_, standing) => standing,
        },
    )
}

/// Whether a doorbell of a job of a place still has to ring here.
pub fn any_waits(dir: &JobDir, spec: &Spec, state: &State) -> bool {
    let waits = |bell: &Doorbell| {
        matches!(
            standing(dir, spec, state, bell),
            Some(RingState::Waiting { .. })
        )
    };
    spec.place != LOCAL && state.is_final() && spec.doorbells.iter().any(waits)
}
