//! Whether a job is there. "It is not" is a verdict: the courier records it, for ever. So it is said only if the
//! directory is certainly missing, in the home that was greeted. A disk that is away, or that cannot be read, says
//! nothing about jobs. And if that home is not there any more, nothing can be said on this wire: it ends.

use super::greeting::Greeted;
use crate::error::{Error, PlaceError};
use crate::home::identity;
use crate::home::outlive::Outlive;
use outlive_core::JobId;
use outlive_core::far::Standing;
use std::io;

/// Whether a job of the courier's home is there.
pub fn standing(outlive: &Outlive, greeted: &Greeted, job: &JobId) -> Result<Standing, Error> {
    let error = match outlive.read_spec(job) {
        Ok(spec) if spec.session.as_ref() == Some(&greeted.session) => return Ok(Standing::There),
        Ok(_) => return Ok(Standing::OtherJob),
        Err(error) => error,
    };
    let found = outlive.job_dir(job).path().symlink_metadata();
    // Read after the directory was looked for: then it was looked for in this home.
    if identity::read(outlive)? != Some(greeted.home.clone()) {
        return Err(PlaceError::HomeGone(outlive.home().root().to_owned()).into());
    }
    match found {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(Standing::NotThere),
        // There is something. Whoever follows it learns what is wrong with it.
        Ok(_) => Ok(Standing::There),
        Err(_) => Err(error),
    }
}

/// Fails unless this is a job of the courier's home. Jobs of others are none that it can know.
pub fn require(outlive: &Outlive, greeted: &Greeted, job: &JobId) -> Result<(), Error> {
    match standing(outlive, greeted, job)? {
        Standing::There => Ok(()),
        Standing::OtherJob | Standing::NotThere => Err(Error::NoSuchJob(job.to_string())),
    }
}
