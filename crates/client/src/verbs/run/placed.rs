//! Starts a job at a place.
//!
//! ```text
//! greeted ─► directory here, "asked" synced ─► sent, repeated by the courier ─► the job is there
//!    └─ not reached: no job at all                 └─ not answered: nobody knows, and a later contact settles it
//! ```
//! The directory here comes first, so whoever is killed afterwards: the job is found, and never started twice.

use super::{NewJob, Run, Started, make_unless_taken, read_begun, spec, started};
use crate::environment::inherited::JobVariables;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::inbox::answering::Reservation;
use crate::jobs::hold::Hold;
use crate::jobs::presence;
use crate::launch;
use crate::places::dial::{self, StartAnswer};
use crate::places::records::Placing;
use crate::places::{Address, Place, Secrets};
use outlive_api::event::EventKind;
use outlive_api::failure::ErrorCode;
use outlive_core::Spec;
use outlive_core::far::Greeting;
use outlive_core::layout;
use outlive_core::os_text::OsText;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where a job is to run.
#[derive(Clone, Debug)]
pub enum Destination {
    Here,
    There(Box<There>),
}

/// A place that has answered.
#[derive(Clone, Debug)]
pub struct There {
    pub place: Place,
    pub greeting: Greeting,
}

impl Destination {
    /// Reaches the place of a request, if it names one.
    pub fn of(outlive: &Outlive, asked: &Run) -> Result<Destination, Error> {
        let Some(text) = &asked.place else {
            return Ok(Destination::Here);
        };
        let Some(place) = Place::resolve(outlive, text)? else {
            return Ok(Destination::Here);
        };
        refuse(asked, &place)?;
        // A wrong request is refused before a network is waited for.
        asked.check()?;
        let greeting = dial::greet(outlive, &place, place.settings.reach)?;
        Ok(Destination::There(Box::new(There { place, greeting })))
    }

    pub fn there(&self) -> Option<&There> {
        match self {
            Destination::Here => None,
            Destination::There(there) => Some(there),
        }
    }
}

/// The name of the place of a request, unless that is this machine.
pub fn named(outlive: &Outlive, asked: &Run) -> Result<Option<String>, Error> {
    let named = asked.place.as_deref();
    let place = named.map(|text| Place::resolve(outlive, text));
    let place = place.transpose()?.flatten();
    // A job in an image is one of this machine.
    let place = place.filter(|place| !matches!(place.address, Address::Image(_)));
    Ok(place.map(|place| place.name))
}

/// Makes the directory here.
pub fn make_directory(
    outlive: &Outlive,
    spec: &mut Spec,
    id_is_given: bool,
    there: &There,
) -> Result<Placing, Error> {
    let instance = &there.greeting.instance;
    make_unless_taken(outlive, spec, id_is_given, |spec| {
        launch::place(outlive, spec, instance)
    })
}

/// Refuses what needs this machine.
fn refuse(asked: &Run, place: &Place) -> Result<(), Error> {
    let environment = &asked.environment;
    let what = [
        (asked.log.is_some(), "a copy of the output in a file here"),
        (asked.keep_awake, "keeping the machine awake"),
        (
            environment.clean,
            "a clean environment (nothing of this one travels)",
        ),
        (
            !environment.pass.is_empty(),
            "passing on variables by a pattern (name each with --env)",
        ),
        (
            environment.login,
            "asking for a login shell at a start (configure `login = true` for the place)",
        ),
    ];
    match what.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(only_here(what, place.name.clone())),
        None => Ok(()),
    }
}

/// The refusal of something that needs this machine.
pub fn only_here(what: &'static str, place: String) -> Error {
    PlaceError::OnlyHere { what, place }.into()
}

impl There {
    /// The variables that travel: only those that somebody named. Any of them may be a secret.
    pub fn variables(&self, asked: Vec<(OsString, OsString)>) -> Result<JobVariables, Error> {
        let configured = self.place.settings.env.iter();
        let configured = configured.map(|(name, value)| (name.into(), value.into()));
        let named: Vec<(OsString, OsString)> = configured.chain(asked).collect();
        let may_be_shown = self.place.settings.calls.secrets == Some(Secrets::Argv);
        match named.first() {
            Some((name, _)) if self.greeting.shown && !may_be_shown => Err(PlaceError::Shown {
                name: name.to_string_lossy().into_owned(),
                place: self.place.name.clone(),
                can_pass_input: matches!(self.place.address, Address::Text(_)),
            }
            .into()),
            _ => Ok(JobVariables::at_place(named)),
        }
    }

    /// The directory of the job there.
    pub fn directory(&self, asked: Option<&OsText>) -> PathBuf {
        let login = self.greeting.login_directory.as_path();
        let usual = match &self.place.settings.cwd {
            Some(configured) => login.join(configured),
            None => login.to_owned(),
        };
        match asked {
            Some(asked) => usual.join(asked.as_path()),
            None => usual,
        }
    }
}

/// Sends a job, which has its directory here.
pub fn begin(
    outlive: &Outlive,
    new: NewJob,
    mut placing: Placing,
    there: &There,
) -> Result<Started, Error> {
    let NewJob {
        mut spec,
        variables,
        notes,
        id_is_given,
        _alone,
        ..
    } = new;
    while send(outlive, &spec, &variables, there)? == Sent::IdTaken {
        if id_is_given {
            return Err(id_taken(&spec));
        }
        spec.id = spec::make_id()?;
        placing = make_directory(outlive, &mut spec, id_is_given, there)?;
    }
    drop(placing);
    let dir = outlive.job_dir(&spec.id);
    let hold = Hold::on(&dir);
    let reserved = Reservation::on(outlive, &spec, &[EventKind::Ended, EventKind::Ready]);
    // It may have been given up before it was sent.
    presence::meet(outlive, &spec.id)?;
    let journal = layout::open(&dir.journal()).map_err(Error::io("cannot open", dir.journal()))?;
    let begun = read_begun(outlive, &spec, journal)?;
    Ok(started(outlive, &spec, begun, notes, hold, reserved))
}

/// What became of a start that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// The replica tells how it went.
    Settled,
    /// Another job has the id there, and the directory here was removed again.
    IdTaken,
}

/// Only another home of this user that is at the same place can have taken the id.
fn id_taken(spec: &Spec) -> Error {
    PlaceError::Refused {
        place: spec.place.clone(),
        code: ErrorCode::IdTaken.as_str().to_owned(),
        message: format!("a job there has the id {} already", spec.id),
    }
    .into()
}

/// Sends the start. Returns once the replica tells how it went.
fn send(
    outlive: &Outlive,
    spec: &Spec,
    variables: &JobVariables,
    there: &There,
) -> Result<Sent, Error> {
    let place = &there.place;
    let within = place.settings.reach;
    match dial::start(outlive, place, &spec.id, variables.to_far(), within)? {
        StartAnswer::Started | StartAnswer::NotStarted { .. } => Ok(Sent::Settled),
        StartAnswer::IdTaken => {
            launch::withdraw(outlive, spec, &outlive.job_dir(&spec.id))?;
            Ok(Sent::IdTaken)
        }
    }
}
