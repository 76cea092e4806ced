//! Changes the size of a job's terminal.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::Answer;
use crate::jobs::presence;
use outlive_api::request::BadSetting;
use outlive_core::control::{Reply, Request};
use outlive_core::{JobId, Size};

/// Programs on the terminal get SIGWINCH.
pub fn resize(outlive: &Outlive, id: &JobId, size: Size) -> Result<(), Error> {
    size.check().map_err(BadSetting::Size)?;
    loop {
        let Some(mut connection) = presence::reach(outlive, id)? else {
            return Err(Error::Refused {
                id: id.clone(),
                reason: "it has ended",
            });
        };
        match presence::ask(outlive, id, &mut connection, &Request::Resize { size })? {
            Answer::Reply(Reply::Resized) => return Ok(()),
            Answer::Reply(_) => return Err(Error::NoAnswer(id.clone())),
            // Setting the same size twice is harmless.
            Answer::KeeperGone => {}
        }
    }
}
