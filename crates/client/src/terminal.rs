//! The terminal a person sits at: for faces that show a job on it.

use crate::error::Error;
use outlive_core::Size;
use outlive_sys::own::Bell;
use outlive_sys::poll::{self, Interest};
use outlive_sys::pty::{self, RawTerminal};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// Whether keys are handed over as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Keys,
    Lines,
}

/// The terminal, or whatever stands in its place. It is as it was before once this is dropped.
#[derive(Debug)]
pub struct Terminal {
    _raw: Option<RawTerminal>,
    resized: Bell,
    leave: Bell,
    input: InputState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputState {
    Open,
    Ended,
}

/// What happened at the terminal, or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    Typed(Vec<u8>),
    /// Nothing more will be typed.
    TypingEnded,
    Resized,
    /// This process was asked to end.
    Leave,
    /// What else was waited for.
    Other,
}

impl Terminal {
    pub fn open(typing: Typing) -> Result<Terminal, Error> {
        let failed = || Error::io("cannot use the terminal", "/dev/tty");
        // First, so that a signal in between cannot leave the terminal changed.
        let leave = Bell::for_leaving().map_err(failed())?;
        let resized = Bell::for_resizes().map_err(failed())?;
        let raw = match typing {
            Typing::Keys => RawTerminal::enter().map_err(failed())?,
            Typing::Lines => None,
        };
        Ok(Terminal {
            _raw: raw,
            resized,
            leave,
            input: InputState::Open,
        })
    }

    /// Its size, if it is one.
    pub fn size(&self) -> Option<Size> {
        pty::own_size().map(|size| Size {
            rows: size.rows,
            cols: size.cols,
        })
    }

    /// Sleeps until something happens here or `other` has something.
    pub fn wait(&mut self, other: BorrowedFd<'_>) -> Result<Vec<Happening>, Error> {
        let failed = || Error::io("cannot wait at the terminal", "/dev/tty");
        let stdin = io::stdin();
        let mut on = vec![
            (other, Interest::Readable),
            (self.resized.as_fd(), Interest::Readable),
            (self.leave.as_fd(), Interest::Readable),
        ];
        if self.input == InputState::Open {
            on.push((stdin.as_fd(), Interest::Readable));
        }
        let ready = poll::wait(&on, None).map_err(failed())?;
        let is_ready = |place: usize| ready.get(place).copied().unwrap_or(false);
        let mut happenings = Vec::new();
        if is_ready(1) {
            self.resized.quiet();
            happenings.push(Happening::Resized);
        }
        if is_ready(2) {
            happenings.push(Happening::Leave);
        }
        if is_ready(3) {
            happenings.push(self.read()?);
        }
        if is_ready(0) {
            happenings.push(Happening::Other);
        }
        Ok(happenings)
    }

    fn read(&mut self) -> Result<Happening, Error> {
        let mut buffer = vec![0; 4096];
        match io::stdin().lock().read(&mut buffer) {
            Ok(0) => {
                self.input = InputState::Ended;
                Ok(Happening::TypingEnded)
            }
            Ok(count) => {
                buffer.truncate(count);
                Ok(Happening::Typed(buffer))
            }
            Err(error) => Err(Error::io("cannot read from", "standard input")(error)),
        }
    }
}
