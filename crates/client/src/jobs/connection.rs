//! A connection to a keeper.

use crate::clock;
use crate::error::Error;
use outlive_core::control::{NO_TERMINAL, READS_NOTHING, Reply, Request};
use outlive_core::layout::CONTROL;
use outlive_core::{BootTime, JobDir, JobId};
use outlive_sys::control::{Read, Stream};
use outlive_sys::poll::{self, Interest};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long a keeper may take to accept a connection, or to answer a simple request. On a busy machine
/// this takes some milliseconds; a keeper that needs longer is suspended.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to the keeper of one job.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    input: Vec<u8>,
}

/// The result of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Reply(Reply),
    /// This keeper is gone. The journal tells more, and the current keeper can be asked again.
    KeeperGone,
}

impl Connection {
    /// Connects to the job's keeper. Returns `None` if no process listens. Waits at most `patience` for
    /// a keeper that accepts no connections.
    pub fn open(job: &JobDir, patience: Duration) -> Result<Option<Connection>, Error> {
        let stream = Stream::connect(job.path(), CONTROL, patience)
            .map_err(Error::io("cannot connect to the keeper of", job.path()))?;
        Ok(stream.map(|stream| Connection {
            stream,
            input: Vec::new(),
        }))
    }

    /// A connection that the courier of a place has opened.
    pub fn through(stream: Stream) -> Connection {
        Connection {
            stream,
            input: Vec::new(),
        }
    }

    /// The connection as it is, for a caller that passes on what others say. Nothing was read from it yet.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// Sends a request without waiting for the answer.
    pub fn send(&self, request: &Request) -> Result<(), Error> {
        let mut line = serde_json::to_vec(request).map_err(|error| Error::Io {
            what: "cannot encode",
            path: "a request".into(),
            source: error.into(),
        })?;
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                // If the keeper is gone, reading the answer will show it.
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Waits for the answer to the last request.
    pub fn receive(&mut self, id: &JobId) -> Result<Answer, Error> {
        loop {
            if let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                return decode(&line, id);
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(Read::Bytes(count)) => self.input.extend_from_slice(&buffer[..count]),
                Ok(Read::Empty) => {}
                Ok(Read::End) | Err(_) => return Ok(Answer::KeeperGone),
            }
        }
    }

    /// Waits for the answer until this moment. Returns `None` if none came.
    pub fn receive_until(&mut self, id: &JobId, until: BootTime) -> Result<Option<Answer>, Error> {
        while !self.has_line() {
            if !self.wait_until(until)? {
                return Ok(None);
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(Read::Bytes(count)) => self.input.extend_from_slice(&buffer[..count]),
                Ok(Read::Empty) => {}
                Ok(Read::End) | Err(_) => return Ok(Some(Answer::KeeperGone)),
            }
        }
        self.receive(id).map(Some)
    }

    fn has_line(&self) -> bool {
        self.input.contains(&b'\n')
    }

    /// Whether there is something to read before this moment.
    fn wait_until(&self, until: BootTime) -> Result<bool, Error> {
        loop {
            let limit = until.since(clock::boot());
            let ready = poll::wait(&[(self.as_fd(), Interest::Readable)], Some(limit))
                .map_err(Error::io("cannot wait for", "a keeper"))?;
            if ready == [true] {
                return Ok(true);
            }
            // Otherwise this process was suspended and resumed.
            if clock::boot() >= until {
                return Ok(false);
            }
        }
    }
}

fn refusal(id: &JobId, reason: String) -> Error {
    let id = id.clone();
    match reason {
        reason if reason.starts_with(READS_NOTHING) => Error::ReadsNothing(id),
        reason if reason.starts_with(NO_TERMINAL) => Error::NotResizable(id),
        reason => Error::RefusedByKeeper { id, reason },
    }
}

fn decode(line: &[u8], id: &JobId) -> Result<Answer, Error> {
    match serde_json::from_slice(line) {
        Ok(Reply::Refused { reason }) => Err(refusal(id, reason)),
        Ok(reply) => Ok(Answer::Reply(reply)),
        Err(error) => Err(Error::RefusedByKeeper {
            id: id.clone(),
            reason: format!(
                "it answered in words this program does not know ({error}); are both of one version?"
            ),
        }),
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
