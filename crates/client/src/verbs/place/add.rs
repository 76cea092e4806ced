//! `place add`: writes a table into the configuration.

use super::edit::Draft;
use super::{AddPlace, jobs};
use crate::config::ValueError;
use crate::config::places::{
    address, check_name, check_variable, check_via, directory, working_directory,
};
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::{Place, dial, records};
use outlive_api::place::PlaceAdded;
use outlive_core::place::Address;
use std::fs;

/// Adds a place to the configuration. The rest of the file stays as it is.
pub fn add(outlive: &Outlive, asked: &AddPlace) -> Result<PlaceAdded, Error> {
    let address = check(asked)?;
    let mut draft = Draft::open(outlive)?;
    let earlier = draft.config.places.get(&asked.name).cloned();
    if let Some(earlier) = &earlier {
        if !asked.replace {
            return Err(PlaceError::Configured(asked.name.clone()).into());
        }
        draft.remove(&asked.name)?;
        leave_behind(outlive, earlier, asked, &address)?;
    }
    if let Some(via) = &asked.via {
        let places = &draft.config.places;
        let way = |name: &str| places.get(name).map(|place| place.settings.via.clone());
        check_via(&asked.name, via, way).map_err(|why| PlaceError::Setting {
            what: "the place to go through",
            why: why.to_string(),
        })?;
    }
    draft.add(asked)?;
    let file = draft.file.clone().into();
    draft.write()?;
    Ok(PlaceAdded {
        name: asked.name.clone(),
        address: address.to_string(),
        file,
        replaced: earlier.is_some(),
    })
}

/// Ends the courier, which works with the earlier settings. If the place is now another one, what was known of the
/// earlier one is forgotten; while jobs are there, it stays, so that nobody takes the other one for theirs.
fn leave_behind(
    outlive: &Outlive,
    earlier: &Place,
    asked: &AddPlace,
    address: &Address,
) -> Result<(), Error> {
    dial::leave(outlive, earlier)?;
    let home = asked.home.as_ref().map(Into::into);
    let is_same = earlier.address == *address
        && earlier.settings.home == home
        && earlier.settings.via == asked.via;
    if !is_same && !jobs(outlive)?.contains_key(&asked.name) {
        forget_known(outlive, earlier)?;
    }
    Ok(())
}

/// Removes what is known of a place, and a connection that it has.
pub fn forget_known(outlive: &Outlive, place: &Place) -> Result<(), Error> {
    super::connect::disconnect(outlive, place);
    let directory = records::directory(outlive, place);
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove", &directory)(error))
        }
        _ => Ok(()),
    }
}

fn check(asked: &AddPlace) -> Result<Address, Error> {
    let wrong = |what: &'static str| {
        move |why: ValueError| {
            let why = why.to_string();
            Error::from(PlaceError::Setting { what, why })
        }
    };
    check_name(&asked.name).map_err(wrong("the name"))?;
    if let Some(cwd) = &asked.cwd {
        working_directory(cwd).map_err(wrong("the working directory"))?;
    }
    if let Some(home) = &asked.home {
        directory(home).map_err(wrong("the home there"))?;
    }
    for (name, value) in &asked.env {
        check_variable(name, value).map_err(wrong("the environment"))?;
    }
    if asked.reach.is_some_and(|reach| reach.is_zero()) {
        return Err(wrong("the time to reach it")(ValueError::NoTime));
    }
    address(&asked.address).map_err(wrong("the address"))
}
