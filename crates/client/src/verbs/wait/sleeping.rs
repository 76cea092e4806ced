//! Sleeps until a job of a wait may have news.

use super::Watch;
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::Connection;
use crate::places::ear::{Ears, Heard};
use outlive_core::{BootTime, JobId};
use outlive_sys::poll::{self, Interest};
use std::os::fd::AsFd;
use std::time::Duration;

/// The indexes of the jobs that may have news; empty if the time is up, or somebody is to be told of a silent place.
pub(super) fn sleep(
    outlive: &Outlive,
    ids: &[JobId],
    watches: &[Watch],
    ears: &mut Ears,
    deadline: Option<BootTime>,
) -> Result<Vec<usize>, Error> {
    let places = watches.iter().enumerate();
    let armed: Vec<(usize, &Connection)> = places
        .clone()
        .filter_map(|(place, watch)| match watch {
            Watch::Armed(connection) => Some((place, connection)),
            _ => None,
        })
        .collect();
    let unarmed: Vec<(usize, Duration)> = places
        .filter_map(|(place, watch)| match watch {
            Watch::Unarmed(pause) => Some((place, *pause)),
            _ => None,
        })
        .collect();
    let pause = unarmed.iter().map(|(_, pause)| pause).min();
    let look = pause.map(|pause| clock::boot() + *pause);
    let is_past = |at: Option<BootTime>| at.is_some_and(|at| clock::boot() >= at);
    loop {
        let mut on: Vec<_> = armed
            .iter()
            .map(|(_, connection)| (connection.as_fd(), Interest::Readable))
            .collect();
        let (names, heard): (Vec<String>, Vec<_>) = ears
            .descriptors()
            .map(|(name, fd)| (name.to_owned(), (fd, Interest::Readable)))
            .unzip();
        on.extend(heard);
        let next = ears.wake_at().into_iter().chain(ears.say_at()).min();
        let until = deadline.into_iter().chain(look).chain(next).min();
        let limit = until.map(|at| at.since(clock::boot()));
        let ready = poll::wait(&on, limit).map_err(Error::io("cannot wait for", "the keepers"))?;
        drop(on);
        let (keepers, couriers) = ready.split_at(armed.len());
        let mut ready: Vec<usize> = armed
            .iter()
            .zip(keepers)
            .filter_map(|((place, _), ready)| ready.then_some(*place))
            .collect();
        let told = names.iter().zip(couriers).filter(|(_, told)| **told);
        for (name, _) in told {
            let heard = ears.hear(outlive, name);
            ready.extend(listening(ids, watches, name, &heard));
        }
        for name in ears.wake(outlive) {
            ready.extend(listening(ids, watches, &name, &Heard::Anything));
        }
        // Jobs without a connection are read a last time when the time is up.
        if is_past(look) || is_past(deadline) || !ready.is_empty() {
            ready.extend(unarmed.iter().map(|(place, _)| place));
        }
        if !ready.is_empty() || is_past(deadline) || is_past(next) {
            return Ok(ready);
        }
    }
}

/// The jobs of this place that may have changed, by their index.
fn listening<'a>(
    ids: &'a [JobId],
    watches: &'a [Watch],
    name: &'a str,
    heard: &'a Heard,
) -> impl Iterator<Item = usize> + 'a {
    let both = watches.iter().zip(ids).enumerate();
    both.filter_map(move |(index, (watch, id))| {
        let listens = matches!(watch, Watch::Listening(place) if place == name);
        (listens && heard.concerns(id)).then_some(index)
    })
}
