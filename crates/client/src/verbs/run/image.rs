//! A job in a container of an image: a job of this machine, whose command is run by Apptainer.
//!
//! The container has no process IDs of its own, so the keepers are here and see every process. Apptainer passes on the
//! environment and the working directory.

use super::{Command, Run};
use crate::environment;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::transport::runner_program;
use crate::places::{Place, Unreached};
use outlive_core::os_text::OsText;
use outlive_core::place::{Address, ApptainerImage};

/// The place of a request, if that is an image.
pub fn named(outlive: &Outlive, asked: &Run) -> Result<Option<(Place, ApptainerImage)>, Error> {
    let Some(text) = &asked.place else {
        return Ok(None);
    };
    let place = Place::resolve(outlive, text)?;
    Ok(place.and_then(|place| match place.address.clone() {
        Address::Image(image) => Some((place, image)),
        _ => None,
    }))
}

/// The request for a job of this machine that runs in the image.
pub fn enter(mut asked: Run, place: &Place, image: &ApptainerImage) -> Result<Run, Error> {
    let program = runner_program(image.runner);
    if environment::on_path(program).is_none() {
        let why = format!("there is no program {program:?} here; install Apptainer");
        return Err(PlaceError::Unreached {
            place: place.name.clone(),
            why: Unreached::Refused(why),
        }
        .into());
    }
    let mut argv: Vec<OsText> = [program, "exec", &image.image].map(OsText::from).to_vec();
    match asked.command {
        Command::Argv(words) => argv.extend(words),
        Command::Shell(script) => {
            // The only shell that an image has for certain.
            argv.extend(["sh", "-c", &script].map(OsText::from));
            asked.shown_as = asked.shown_as.or(Some(script));
        }
    }
    asked.command = Command::Argv(argv);
    // What the request says comes last, and wins.
    let configured = place.settings.env.iter();
    let configured = configured.map(|(name, value)| (name.as_str().into(), value.as_str().into()));
    asked.variables = configured.chain(asked.variables).collect();
    if let Some(usual) = &place.settings.cwd {
        asked.cwd = Some(match asked.cwd {
            Some(cwd) => usual.join(cwd.as_path()).into(),
            None => usual.clone().into(),
        });
    }
    asked.place = None;
    Ok(asked)
}
