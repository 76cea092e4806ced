//! What becomes of jobs whose container was started again, or exists no more.
//!
//! The home of a place tells who answers: a container that was made anew under the same name has another one. What
//! happened to the container of a job, its engine says. Only that makes a job lost: not that it cannot be reached, and not
//! the word of another engine.

use super::desk::Courier;
use super::replicas::{self, Standing};
use super::settling::Abandoned;
use super::{journals, last_look, wire::Wire};
use crate::clock;
use crate::places::records::{Known, Placed, PlacedStep, Start};
use crate::places::transport::{self, Existence};
use crate::places::{Unreached, records};
use outlive_api::time::Timestamp;
use outlive_core::far::Instance;
use outlive_core::place::ContainerRef;
use outlive_core::{BootTime, JobId, WallTime};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the jobs of a place are where this instance answers. Fails if they are somewhere else that may still be there.
/// Returns what was known of another one that is gone for good.
pub fn check_instance(
    courier: &Courier,
    there: &Instance,
    by: BootTime,
) -> Result<Option<Known>, Unreached> {
    let Some(known) = records::read_known(&courier.outlive, &courier.place) else {
        return Ok(None);
    };
    if known.instance.home == there.home {
        return Ok(None);
    }
    let earlier = known.clone();
    let known = known.instance;
    let other = format!(
        "another home answers there ({} on {}) than the one that has its jobs ({} on {})",
        there.root.lossy(),
        there.host,
        known.root.lossy(),
        known.host
    );
    let Some(container) = known.container else {
        return Err(Unreached::OtherInstance(other));
    };
    match look_for(courier, &container, by) {
        // Nothing of the place is left, so it begins anew.
        Ok(Existence::Gone(_)) => Ok(Some(earlier)),
        Ok(Existence::There) => Err(Unreached::OtherInstance(format!(
            "{other}; their container still exists under another name or stopped"
        ))),
        Ok(Existence::NotKnown) => Err(Unreached::OtherInstance(format!(
            "{other}, and another engine than the one that has their container"
        ))),
        Err(why) => Err(Unreached::OtherInstance(format!("{other}; {why}"))),
    }
}

/// The containers of this place that are known to exist no more. None comes back.
#[derive(Default)]
pub struct Graveyard(Mutex<HashMap<ContainerRef, String>>);

/// Whether a container exists, as the engine of this place says.
fn look_for(
    courier: &Courier,
    container: &ContainerRef,
    by: BootTime,
) -> Result<Existence, Unreached> {
    let known = || {
        let gone = &courier.gone_containers.0;
        gone.lock().unwrap_or_else(PoisonError::into_inner)
    };
    if let Some(said) = known().get(container) {
        return Ok(Existence::Gone(said.clone()));
    }
    let found = transport::look_for(&courier.outlive, &courier.place, container, by)?;
    if let Existence::Gone(said) = &found {
        known().insert(container.clone(), said.clone());
    }
    Ok(found)
}

/// Whether all these jobs were in containers that exist no more.
pub fn are_gone(courier: &Courier, jobs: &[JobId], by: BootTime) -> bool {
    jobs.iter().all(|job| {
        let placed = Placed::read(&courier.outlive.job_dir(job));
        let instance = placed.ok().and_then(|placed| placed.instance().cloned());
        let container = instance.and_then(|instance| instance.container);
        let found = container.map(|container| look_for(courier, &container, by));
        matches!(found, Some(Ok(Existence::Gone(_))))
    })
}

/// The containers of jobs that are not over, other than the one that answers now.
type Others = HashMap<ContainerRef, Vec<Standing>>;

fn others(courier: &Courier, now: Option<&ContainerRef>) -> Others {
    let mut others = Others::new();
    for standing in replicas::live(courier) {
        let container = standing.container().cloned();
        let is_other = |container: &ContainerRef| now.is_none_or(|now| !now.is(container));
        if let Some(container) = container.filter(is_other) {
            others.entry(container).or_default().push(standing);
        }
    }
    others
}

/// Records the end of jobs whose container exists no more, as its engine says. `wire` leads to the container that answers
/// now, if one does: a job whose home is there, too, is left to that.
/// `known` is what was known of the place before.
pub fn settle_gone(
    courier: &Arc<Courier>,
    known: Option<&Known>,
    wire: Option<&Wire>,
    by: BootTime,
) {
    let heard_at = known.map(|known| known.heard_at);
    let there = wire.and_then(Wire::greeting).map(|there| &there.instance);
    let now = there.and_then(|there| there.container.as_ref());
    for (container, standings) in others(courier, now) {
        let said = match look_for(courier, &container, by) {
            Ok(Existence::Gone(said)) => said,
            Ok(Existence::There | Existence::NotKnown) => continue,
            Err(why) => {
                courier
                    .log
                    .note(&format!("cannot look for a container: {why}"));
                continue;
            }
        };
        for standing in standings {
            let id = standing.id.clone();
            let is_here = there.is_some_and(|there| standing.is_at(&there.home));
            let done = match (is_here, wire.and_then(Wire::journals).zip(wire)) {
                (true, Some((journals, wire))) => journals.follow(wire, &id, true),
                _ => lose(courier, standing, &said, heard_at),
            };
            if let Err(error) = done {
                courier
                    .log
                    .note(&format!("cannot record that {id} is lost: {error}"));
            }
        }
    }
}

/// Records that a job is lost with its container, unless its start is being decided.
fn lose(
    courier: &Arc<Courier>,
    standing: Standing,
    said: &str,
    heard_at: Option<WallTime>,
) -> io::Result<()> {
    let id = standing.id.clone();
    let heard = heard_at.map(|at| format!("; it was last heard from at {}", Timestamp::from(at)));
    let step = PlacedStep::Lost {
        reason: format!("{said}{}", heard.unwrap_or_default()),
        at: clock::wall(),
        heard_at,
    };
    if standing.placed.start() == Start::Asked {
        let Some(abandoned) = Abandoned::take(courier, standing) else {
            return Ok(());
        };
        replicas::note(&courier.outlive, &abandoned.job, &step)?;
        return journals::finish(courier, &id);
    }
    let Some(_claim) = courier.claims.try_take(&id) else {
        return Ok(());
    };
    if let Err(error) = last_look::read(courier, &standing) {
        courier
            .log
            .note(&format!("cannot read the journal of {id}: {error}"));
    }
    if courier
        .outlive
        .job_dir(&id)
        .read_journal()
        .is_ok_and(|journal| journal.state.is_final())
    {
        return Ok(());
    }
    if Placed::read(&courier.outlive.job_dir(&id))?.start() == Start::Answered {
        replicas::note(&courier.outlive, &id, &step)?;
    }
    journals::finish(courier, &id)
}

/// Whether what a job was started in has been stopped since, so that nothing of that time runs any more.
pub fn was_stopped(standing: &Standing, now: Option<&ContainerRef>) -> bool {
    let (Some(then), Some(now)) = (standing.container(), now) else {
        return false;
    };
    then.is(now) && then.started != now.started
}
