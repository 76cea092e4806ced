//! Writes messages to the harness, each in one piece.
//!
//! Whoever has something to write waits here while the harness does not read. So nothing piles up: what is not written
//! is not read from the disk either.

use outlive::api::failure::Failure;
use outlive_api::rpc::{Answer, Hello, Part, Refusal, RequestId};
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use std::process;
use std::sync::{Mutex, PoisonError};

/// The way to the harness.
pub struct Out {
    to: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Out {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").finish_non_exhaustive()
    }
}

impl Out {
    pub fn to(to: impl Write + Send + 'static) -> Out {
        Out {
            to: Mutex::new(Box::new(to)),
        }
    }

    pub fn hello(&self, hello: &Hello) {
        self.line(hello, &[]);
    }

    pub fn refuse(&self, id: Option<RequestId>, error: Failure) {
        self.line(&Refusal { id, error }, &[]);
    }

    pub fn answer<R: Serialize>(&self, answer: &Answer<R>) {
        self.line(answer, &[]);
    }

    /// A part, and the raw bytes that it announces.
    pub fn part<P: Serialize>(&self, part: &Part<P>, raw: &[u8]) {
        self.line(part, raw);
    }

    /// Without a reader there is nothing left to do here. Jobs go on by themselves.
    fn line(&self, message: &impl Serialize, raw: &[u8]) {
        let Ok(mut bytes) = serde_json::to_vec(message) else {
            return;
        };
        bytes.push(b'\n');
        bytes.extend_from_slice(raw);
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        if to.write_all(&bytes).and_then(|()| to.flush()).is_err() {
            process::exit(0);
        }
    }
}

/// A failure that is not one of a verb.
pub fn failure(code: outlive::api::failure::ErrorCode, message: impl Into<String>) -> Failure {
    Failure {
        code,
        message: message.into(),
        hint: None,
        data: None,
    }
}

/// Standard output, without a buffer of its own: each message is one write.
pub fn stdout() -> io::Result<impl Write + Send> {
    use std::os::fd::AsFd;
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(std::fs::File::from(stdout))
}
