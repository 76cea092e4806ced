//! Programs that are started at another place, through its courier: that is how a place is reached through another one.
//!
//! ```text
//!  courier of this place ══ stream ══ courier of the other ══ wire ══ far end there ── program ── …
//! ```

use super::base::{Asked, Begun, Running, read_all};
use super::ended::{Ended, How};
use super::line::Line;
use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::{Place, Unreached, dial};
use crate::random;
use outlive_core::BootTime;
use outlive_core::far::{Answer, Call, Opening};
use outlive_sys::control::Stream;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// The place through which another one is reached.
#[derive(Clone, Debug)]
pub struct Via {
    outlive: Outlive,
    place: Place,
}

/// A program that was started there. It ends with its stream.
#[derive(Debug)]
pub struct Remote {
    via: Via,
    ticket: String,
}

/// How long it may take to learn how a program ended.
const TELLING: Duration = Duration::from_secs(5);

impl Via {
    pub fn of(outlive: &Outlive, name: &str) -> Result<Via, Unreached> {
        let place = Place::resolve(outlive, name);
        let none = || Unreached::Refused(format!("there is no place {name:?} to reach it through"));
        match place {
            Ok(Some(place)) => Ok(Via {
                outlive: outlive.clone(),
                place,
            }),
            Ok(None) => Err(none()),
            Err(error) => Err(Unreached::Refused(error.to_string())),
        }
    }

    pub fn start(&self, line: &Line, by: BootTime) -> Result<Begun, Unreached> {
        let (stream, remote) = self.open(line, by)?;
        let ends = || -> io::Result<(File, File)> {
            let copy = || stream.as_fd().try_clone_to_owned().map(File::from);
            Ok((copy()?, copy()?))
        };
        let (input, output) = ends().map_err(|error| Unreached::Refused(error.to_string()))?;
        Ok(Begun {
            input,
            output,
            running: Running::At(remote),
        })
    }

    pub fn ask(&self, line: &Line, input: Option<File>, by: BootTime) -> Result<Asked, Unreached> {
        if let Some(input) = input {
            return self.ask_with(line, input, by);
        }
        let within = by.since(clock::boot());
        let asked = Call::Ask {
            program: line.to_far(),
            within_ms: within.as_millis() as u64,
        };
        match self.call(asked, within)? {
            Answer::Asked { output, ended } => Ok(Asked {
                output,
                ended: ended.into(),
            }),
            _ => Err(self.strange()),
        }
    }

    /// The same for a program that reads this file.
    fn ask_with(&self, line: &Line, mut input: File, by: BootTime) -> Result<Asked, Unreached> {
        let (stream, remote) = self.open(line, by)?;
        let cannot = |error: io::Error| Unreached::Refused(format!("cannot send it: {error}"));
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = input.read(&mut buffer).map_err(cannot)?;
            // If it has ended, its last words tell why.
            if count == 0 || stream.write(&buffer[..count]).is_err() {
                break;
            }
        }
        stream.shut_writing();
        let output = stream.as_fd().try_clone_to_owned().map_err(cannot)?;
        let output = read_all(File::from(output), by)?;
        drop(stream);
        Ok(Asked {
            output: String::from_utf8_lossy(&output).into_owned(),
            ended: remote.ended(),
        })
    }

    fn open(&self, line: &Line, by: BootTime) -> Result<(Stream, Remote), Unreached> {
        let ticket = random::token().map_err(|error| Unreached::NoCourier(error.to_string()))?;
        let opening = Opening::Exec {
            program: line.to_far(),
            ticket: ticket.clone(),
        };
        let within = by.since(clock::boot());
        let stream = dial::open(&self.outlive, &self.place, opening, within);
        let via = self.clone();
        stream
            .map(|stream| (stream, Remote { via, ticket }))
            .map_err(|error| self.unreached(&error))
    }

    fn call(&self, call: Call, within: Duration) -> Result<Answer, Unreached> {
        let answer = dial::call(&self.outlive, &self.place, call, within);
        answer.map_err(|error| self.unreached(&error))
    }

    /// It says nothing about the place behind this one.
    fn unreached(&self, error: &Error) -> Unreached {
        let name = &self.place.name;
        Unreached::Refused(match error {
            Error::Place(PlaceError::Unreached { why, .. }) => {
                format!("{name}, through which it is reached, was not reached: {why}")
            }
            Error::Place(PlaceError::Refused { message, .. }) => format!("at {name}: {message}"),
            other => format!("at {name}: {other}"),
        })
    }

    fn strange(&self) -> Unreached {
        self.unreached(&PlaceError::strange(&self.place.name).into())
    }
}

impl Remote {
    pub fn ended(self) -> Ended {
        let ticket = self.ticket;
        let unknown = |words: String| Ended {
            how: How::Unknown,
            words,
        };
        match self.via.call(Call::Ended { ticket }, TELLING) {
            Ok(Answer::Ended(Some(ended))) => ended.into(),
            Ok(_) => {
                let name = &self.via.place.name;
                unknown(format!("the connection to {name} was lost"))
            }
            Err(why) => unknown(why.to_string()),
        }
    }
}
