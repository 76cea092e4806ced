//! Where the programs of a transport are started, and how they end: on this machine, or at the place through which
//! another one is reached.

use super::ended::{Ended, How};
use super::last_words::LastWords;
use super::line::Line;
use super::via::{Remote, Via};
use crate::clock;
use crate::home::outlive::Outlive;
use crate::places::{Place, Unreached};
use outlive_core::BootTime;
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::{PidFd, signal_child};
use outlive_sys::spawn;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where programs are started.
#[derive(Clone, Debug)]
pub enum Base {
    /// On this machine.
    Here,
    /// At this place.
    At(Via),
}

/// A program that was started, with the two ends of its pipes.
#[derive(Debug)]
pub struct Begun {
    pub input: File,
    pub output: File,
    pub running: Running,
}

/// A program that runs. Close both ends of its pipes first to end it.
#[derive(Debug)]
pub enum Running {
    Here(Local),
    At(Remote),
}

/// A program of this machine.
#[derive(Debug)]
pub struct Local {
    child: Child,
    last_words: LastWords,
}

/// What a program said that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub output: String,
    pub ended: Ended,
}

/// How long a transport may take to end after its input and output were closed.
const LEAVING: Duration = Duration::from_secs(1);

/// SIGTERM: `ssh` then ends its proxy command too.
const TERM: i32 = 15;

/// More than any answer that is asked for.
const MAX_ANSWER: usize = 4 << 20;

impl Base {
    /// Where the programs that reach this place are started.
    pub fn of(outlive: &Outlive, place: &Place) -> Result<Base, Unreached> {
        match &place.settings.via {
            None => Ok(Base::Here),
            Some(via) => Via::of(outlive, via).map(Base::At),
        }
    }

    /// Starts a program whose input and output are ours.
    pub fn start(&self, line: &Line, by: BootTime) -> Result<Begun, Unreached> {
        match self {
            Base::Here => Local::start(line),
            Base::At(via) => via.start(line, by),
        }
    }

    /// Runs a program to its end.
    pub fn ask(&self, line: &Line, input: Option<File>, by: BootTime) -> Result<Asked, Unreached> {
        match self {
            Base::Here => Local::ask(line, input, by),
            Base::At(via) => via.ask(line, input, by),
        }
    }
}

impl Running {
    /// Ends the program. It is told to, because over a dead network it would notice only much later that nobody reads.
    pub fn end(self) {
        match self {
            Running::Here(mut local) => local.leave(Duration::ZERO),
            // It ends with its stream.
            Running::At(_) => {}
        }
    }

    /// How the program ended, which it may still be about to do.
    pub fn ended(self) -> Ended {
        match self {
            Running::Here(mut local) => {
                local.leave(LEAVING);
                local.ended_now()
            }
            Running::At(remote) => remote.ended(),
        }
    }
}

impl Local {
    fn start(line: &Line) -> Result<Begun, Unreached> {
        let (mut child, last_words) = spawn(line, Stdio::piped())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for as pipes");
        };
        Ok(Begun {
            input: File::from(OwnedFd::from(input)),
            output: File::from(OwnedFd::from(output)),
            running: Running::Here(Local { child, last_words }),
        })
    }

    fn ask(line: &Line, input: Option<File>, by: BootTime) -> Result<Asked, Unreached> {
        let (mut child, last_words) = spawn(line, input.map_or_else(Stdio::null, Stdio::from))?;
        let Some(output) = child.stdout.take() else {
            unreachable!("it was asked for as a pipe");
        };
        let mut running = Local { child, last_words };
        let read = read_all(File::from(OwnedFd::from(output)), by);
        running.leave(match read {
            Ok(_) => by.since(clock::boot()),
            Err(_) => Duration::ZERO,
        });
        Ok(Asked {
            output: String::from_utf8_lossy(&read?).into_owned(),
            ended: running.ended_now(),
        })
    }
}

fn spawn(line: &Line, input: Stdio) -> Result<(Child, LastWords), Unreached> {
    let mut command: Command = line.command()?;
    command
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let program = &line.program;
    let cannot = |error: io::Error| Unreached::Refused(format!("cannot start {program}: {error}"));
    let mut child = spawn::start(&mut command).map_err(cannot)?;
    let Some(words) = child.stderr.take() else {
        unreachable!("it was asked for as a pipe");
    };
    let last_words = LastWords::of(words).map_err(cannot)?;
    Ok((child, last_words))
}

/// Reads to the end. What is longer than any answer is none.
pub(super) fn read_all(mut output: File, by: BootTime) -> Result<Vec<u8>, Unreached> {
    let cannot = |error: io::Error| Unreached::Refused(format!("cannot read the answer: {error}"));
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        let left = by.since(clock::boot());
        if left.is_zero() {
            return Err(Unreached::TimedOut);
        }
        let on = [(output.as_fd(), Interest::Readable)];
        if poll::wait(&on, Some(left)).map_err(cannot)? != [true] {
            continue;
        }
        match output.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot(error)),
        }
        if bytes.len() > MAX_ANSWER {
            let why = "the answer is longer than any can be";
            return Err(Unreached::NotUnderstood(why.to_owned()));
        }
    }
}

impl Local {
    fn ended_now(mut self) -> Ended {
        let status = self.child.try_wait().ok().flatten();
        Ended {
            how: How::from(status),
            words: self.last_words.take(),
        }
    }

    /// Ends the child if it does not end by itself in this time, and reaps it.
    fn leave(&mut self, patience: Duration) {
        let pid = self.child.id().cast_signed();
        let ends_within = |limit| match PidFd::open(pid) {
            Ok(Some(process)) => process.wait_for_end(Some(limit)).unwrap_or(true),
            _ => true,
        };
        if matches!(self.child.try_wait(), Ok(None)) && !ends_within(patience) {
            let _ = signal_child(pid, TERM);
            if !ends_within(LEAVING) && self.child.kill().is_err() {
                // It is another user's, as with sudo. It ends because its input has.
                return;
            }
            ends_within(LEAVING);
        }
        let _ = self.child.try_wait();
    }
}
