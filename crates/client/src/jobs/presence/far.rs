//! Connects to the keeper of a job of a place, through the courier.

use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, Away};
use crate::jobs::connection::{Connection, PATIENCE};
use crate::places::dial;
use outlive_core::JobId;
use outlive_core::far::Opening;
use std::time::Duration;

/// What an error means for a request that was sent once and is sent again: the first one may have arrived.
pub fn sent_before(error: Error) -> Error {
    match error {
        Error::Place(PlaceError::Unreached { place, why }) => {
            PlaceError::Unanswered { place, why }.into()
        }
        error => error,
    }
}

/// Opens the control stream of a job. Returns `None` if the state must be read again: the job was over there. `patience`
/// counts if it is another one than keepers on this machine get.
pub fn connect(
    outlive: &Outlive,
    away: &Away,
    id: &JobId,
    patience: Duration,
) -> Result<Option<Connection>, Error> {
    let place = away::resolve(outlive, away)?;
    let within = match patience == PATIENCE {
        true => place.settings.reach,
        false => patience,
    };
    let opening = Opening::Control { job: id.clone() };
    match dial::open(outlive, &place, opening, within) {
        Ok(stream) => Ok(Some(Connection::through(stream, place.name))),
        Err(Error::Place(PlaceError::Refused {
            code,
            message,
            place,
        })) => {
            let now = outlive.job_dir(id).read_journal()?.state;
            match now.is_final() {
                true => Ok(None),
                false => Err(PlaceError::Refused {
                    code,
                    message,
                    place,
                }
                .into()),
            }
        }
        Err(error) => Err(error),
    }
}
