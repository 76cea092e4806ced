//! Names for places, and what can be done with a place as a whole.
//!
//! | module | owns |
//! |---|---|
//! | `add`, `remove` | the table of a place in the configuration, and its jobs when it goes |
//! | `edit` | changing that file without touching the rest of it |
//! | `list` | what is known without asking |
//! | `check` | who answers, and what is less there than here |
//! | `connect` | logging in, in the terminal |
//! | `clean` | programs of other versions there |

mod add;
mod check;
mod clean;
mod connect;
mod edit;
mod list;
mod remove;

pub use add::add;
pub use check::check;
pub use clean::clean;
pub use connect::{Login, connect};
pub use list::list;
pub use outlive_api::request::AddPlace;
pub use remove::remove;

use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::Place;
use outlive_core::place::LOCAL;
use outlive_core::{JobId, Spec};
use std::collections::{BTreeMap, HashSet};

/// The place that a text names, which must not be this machine.
fn resolve(outlive: &Outlive, text: &str) -> Result<Place, Error> {
    let place = Place::resolve(outlive, text)?;
    place.ok_or_else(|| PlaceError::Local.into())
}

/// The jobs of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Jobs {
    all: Vec<JobId>,
    /// Those that are not known to be over.
    running: Vec<JobId>,
}

/// The jobs of every place that has some, by the name of the place in their specs.
fn jobs(outlive: &Outlive) -> Result<BTreeMap<String, Jobs>, Error> {
    let live: HashSet<JobId> = outlive.live_ids()?.into_iter().collect();
    let mut places: BTreeMap<String, Jobs> = BTreeMap::new();
    for id in outlive.all_ids()? {
        if !outlive.job_dir(&id).placed().exists() {
            continue;
        }
        // One that was removed meanwhile, or that is damaged, is at no place.
        let Ok(Spec { place, .. }) = outlive.read_spec(&id) else {
            continue;
        };
        if place == LOCAL {
            continue;
        }
        let jobs = places.entry(place).or_default();
        if live.contains(&id) {
            jobs.running.push(id.clone());
        }
        jobs.all.push(id);
    }
    Ok(places)
}
