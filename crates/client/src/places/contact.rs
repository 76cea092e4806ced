//! Gives places a moment to tell what is new of their jobs, for verbs that never wait for a network.

use super::dial;
use super::settings::Place;
use crate::home::outlive::{Outlive, ids_in};
use outlive_core::far::Call;
use outlive_core::place::LOCAL;
use outlive_core::{JobId, Label};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// How long all places together have.
const PATIENCE: Duration = Duration::from_millis(300);

/// Lets the replicas of the session's running jobs catch up, where a place answers at once. What fails here is found out
/// by whoever waits.
pub fn refresh(outlive: &Outlive, session: &Label) {
    // Most homes know no place.
    if !outlive.home().places().is_dir() {
        return;
    }
    let places = running(outlive, session);
    thread::scope(|scope| {
        for (place, jobs) in places {
            scope.spawn(move || ask(outlive, &place, jobs));
        }
    });
}

/// The places where jobs of the session run, with these.
fn running(outlive: &Outlive, session: &Label) -> Vec<(Place, Vec<JobId>)> {
    let mut jobs: BTreeMap<String, Vec<JobId>> = BTreeMap::new();
    for id in ids_in(&outlive.home().inbox(session)).unwrap_or_default() {
        let is_live = outlive.home().live_link(&id).symlink_metadata().is_ok();
        if is_live
            && let Ok(spec) = outlive.read_spec(&id)
            && spec.place != LOCAL
        {
            jobs.entry(spec.place).or_default().push(id);
        }
    }
    let places = jobs.into_iter();
    places
        .filter_map(|(name, jobs)| Some((Place::resolve(outlive, &name).ok()??, jobs)))
        .collect()
}

fn ask(outlive: &Outlive, place: &Place, jobs: Vec<JobId>) {
    let is_silent = dial::known(outlive, place).is_some_and(|known| known.unreached.is_some());
    match is_silent {
        // The courier tries again, and nobody waits for it.
        true => drop(dial::listen_within(outlive, place, PATIENCE)),
        // Before it answers, it sends what the replicas lack.
        false => drop(dial::call(
            outlive,
            place,
            Call::Standing { jobs },
            PATIENCE,
        )),
    }
}
