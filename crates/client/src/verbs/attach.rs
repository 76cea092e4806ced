//! Attaches the user's terminal to a job: shows its screen and output, and passes on typed input.
//!
//! Several terminals may be attached to one job. A terminal that leaves, or is killed, does not affect
//! the job.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::Connection;
use crate::jobs::presence;
use crate::output::{Chunk, Follow, Output};
use crate::random;
use crate::screen::Emulation;
use crate::verbs::resize;
use crate::verbs::send::Sender;
use crate::verbs::show;
use outlive_api::request;
use outlive_core::control::{Write, WriteId};
use outlive_core::{Input, JobId, Size, Spec, State};
use std::os::fd::{AsFd, BorrowedFd};

/// One attached terminal.
pub struct Attach<'a> {
    outlive: &'a Outlive,
    id: JobId,
    /// What the job reads from.
    pub input: Input,
    follow: Follow<'a>,
    /// Notified when there is more output; `None` once the job is over.
    bell: Option<Connection>,
    sender: Sender<'a>,
    token: String,
    typed: u64,
}

impl std::fmt::Debug for Attach<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attach")
            .field("id", &self.id)
            .field("follow", &self.follow)
            .finish_non_exhaustive()
    }
}

impl<'a> Attach<'a> {
    /// Attaches, and returns what to show first. The job's terminal gets the size of the user's
    /// terminal, if that is asked for.
    pub fn open(
        outlive: &'a Outlive,
        id: &JobId,
        asked: request::Attach,
    ) -> Result<(Attach<'a>, Vec<u8>), Error> {
        // A terminal shows everything unredacted.
        if !outlive.shows_secrets() {
            return Err(Error::SecretsHidden);
        }
        let (job, spec, _) = show::read(outlive, id)?;
        if let (Some(size), Input::Pty(_), false) = (asked.size, spec.input, job.has_ended()) {
            match resize::resize(outlive, id, size) {
                // It ended just now, or lost its terminal: it can still be looked at.
                Err(
                    Error::Refused { .. } | Error::RefusedByKeeper { .. } | Error::NotResizable(_),
                )
                | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        let (_, spec, state) = show::read(outlive, id)?;
        let (position, first) = match spec.input {
            Input::Pty(_) => {
                let emulation = Emulation::of(outlive, &spec, &state)?;
                (emulation.position, emulation.repaint())
            }
            Input::Null | Input::Pipe => recent(outlive, &spec, &state)?,
        };
        let attach = Attach {
            outlive,
            id: id.clone(),
            input: spec.input,
            follow: Follow::new(outlive, id, position)?,
            bell: None,
            sender: Sender::new(outlive, id),
            token: random::token()?,
            typed: 0,
        };
        Ok((attach, first))
    }

    /// The output that is available now. If there is none, asks the keeper to notify us.
    pub fn output(&mut self) -> Result<Option<Chunk>, Error> {
        let (_, state) = presence::meet(self.outlive, &self.id)?;
        if let Some(chunk) = self.follow.read(&state)? {
            return Ok(Some(chunk));
        }
        self.bell = self.follow.arm(&state)?;
        if self.bell.is_none() {
            // It is over by now, and the next call will see that.
            return self.output();
        }
        Ok(None)
    }

    /// A file descriptor that becomes readable when there may be more output.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Passes on typed input.
    pub fn type_in(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        self.write(bytes, false)
    }

    /// Closes the job's input.
    pub fn end_input(&mut self) -> Result<(), Error> {
        self.write(Vec::new(), true)
    }

    fn write(&mut self, bytes: Vec<u8>, eof: bool) -> Result<(), Error> {
        self.typed += 1;
        self.sender.write(Write {
            id: WriteId::parse(&format!("{}#{}", self.token, self.typed))?,
            data: bytes.into(),
            more: false,
            eof,
            tells_repeated: false,
        })?;
        Ok(())
    }

    /// Gives the job's terminal this size.
    pub fn resize(&self, size: Size) -> Result<(), Error> {
        resize::resize(self.outlive, &self.id, size)
    }
}

/// The last lines of a job without a terminal, and the offset of their end.
fn recent(outlive: &Outlive, spec: &Spec, state: &State) -> Result<(u64, Vec<u8>), Error> {
    const LINES: u64 = 20;
    let failed = || Error::io("cannot read", outlive.job_dir(&spec.id).output());
    let output = Output::open(outlive, spec, state)?;
    let from = output.tail(LINES).map_err(failed())?;
    let mut bytes = Vec::new();
    for chunk in output.chunks(from..output.size) {
        bytes.extend(chunk.map_err(failed())?);
    }
    Ok((output.size, bytes))
}
