//! The terminal of the user, for interfaces that show a job on it.

use crate::error::Error;
use outlive_core::Size;
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::own::Bell;
use outlive_sys::terminal::{self, OwnTerminal};
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How typed input is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Keys,
    /// Whole lines, and this one key immediately.
    Lines {
        leave: u8,
    },
}

/// The user's terminal, or what replaces it. Dropping this restores its settings.
#[derive(Debug)]
pub struct Terminal {
    _changed: Option<OwnTerminal>,
    resized: Bell,
    leave: Bell,
    input: InputState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputState {
    Open,
    Ended,
}

/// An event at the terminal or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    Typed(Vec<u8>),
    /// The user pressed the end-of-input key (Ctrl-D) at the start of a line. More input may follow.
    EndTyped,
    /// No more input will follow.
    TypingEnded,
    Resized,
    /// A signal asked this process to end.
    Leave,
    /// The other file descriptor is ready.
    OtherReady,
}

impl Terminal {
    pub fn open(typing: Typing) -> Result<Terminal, Error> {
        let failed = || Error::io("cannot use the terminal", "/dev/tty");
        // Set up signals first, so that a signal in between cannot leave the terminal changed.
        let leave = Bell::for_leaving().map_err(failed())?;
        let resized = Bell::for_resizes().map_err(failed())?;
        let changed = match typing {
            Typing::Keys => OwnTerminal::hand_over_keys(),
            Typing::Lines { leave } => OwnTerminal::hand_over_lines(leave),
        };
        let changed = changed.map_err(failed())?;
        Ok(Terminal {
            _changed: changed,
            resized,
            leave,
            input: InputState::Open,
        })
    }

    /// The size of the terminal, if it is one.
    pub fn size(&self) -> Option<Size> {
        terminal::own_size().map(|size| Size {
            rows: size.rows,
            cols: size.cols,
        })
    }

    /// Waits until something happens at the terminal or `other` is readable.
    pub fn wait(&mut self, other: BorrowedFd<'_>) -> Result<Vec<Happening>, Error> {
        self.look(Some(other))
    }

    /// Returns what has happened so far, without waiting.
    pub fn peek(&mut self) -> Result<Vec<Happening>, Error> {
        self.look(None)
    }

    fn look(&mut self, other: Option<BorrowedFd<'_>>) -> Result<Vec<Happening>, Error> {
        let failed = || Error::io("cannot wait at the terminal", "/dev/tty");
        let stdin = io::stdin();
        let typed = Some(stdin.as_fd()).filter(|_| self.input == InputState::Open);
        let sources = [
            Some(self.resized.as_fd()),
            Some(self.leave.as_fd()),
            typed,
            other,
        ];
        let on: Vec<_> = sources
            .iter()
            .flatten()
            .map(|fd| (*fd, Interest::Readable))
            .collect();
        let limit = match other {
            Some(_) => None,
            None => Some(Duration::ZERO),
        };
        let mut ready = poll::wait(&on, limit).map_err(failed())?.into_iter();
        let found = sources.map(|source| source.is_some() && ready.next().unwrap_or(false));
        let mut happenings = Vec::new();
        if found[0] {
            self.resized.quiet();
            happenings.push(Happening::Resized);
        }
        if found[1] {
            happenings.push(Happening::Leave);
        }
        if found[2] {
            happenings.push(self.read()?);
        }
        if found[3] {
            happenings.push(Happening::OtherReady);
        }
        Ok(happenings)
    }

    fn read(&mut self) -> Result<Happening, Error> {
        let mut buffer = vec![0; 4096];
        match io::stdin().lock().read(&mut buffer) {
            // A terminal reports that key as an empty read. After a hang-up it is no terminal any more.
            Ok(0) if io::stdin().is_terminal() => Ok(Happening::EndTyped),
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
