//! Where the programs of a transport are started, and how they end.

use super::ended::{Ended, How};
use super::last_words::LastWords;
use super::line::Line;
use crate::clock;
use crate::places::Unreached;
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
pub struct Running {
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
    /// Starts a program whose input and output are ours.
    pub fn start(&self, line: &Line) -> Result<Begun, Unreached> {
        let Base::Here = self;
        start(line, Stdio::piped())
    }

    /// Runs a program to its end.
    pub fn ask(&self, line: &Line, input: Option<File>, by: BootTime) -> Result<Asked, Unreached> {
        let Base::Here = self;
        let (mut child, last_words) = spawn(line, input.map_or_else(Stdio::null, Stdio::from))?;
        let Some(output) = child.stdout.take() else {
            unreachable!("it was asked for as a pipe");
        };
        let mut running = Running { child, last_words };
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

fn start(line: &Line, input: Stdio) -> Result<Begun, Unreached> {
    let (mut child, last_words) = spawn(line, input)?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both were asked for as pipes");
    };
    Ok(Begun {
        input: File::from(OwnedFd::from(input)),
        output: File::from(OwnedFd::from(output)),
        running: Running { child, last_words },
    })
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
fn read_all(mut output: File, by: BootTime) -> Result<Vec<u8>, Unreached> {
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

impl Running {
    /// Ends the program. It is told to, because over a dead network it would notice only much later that nobody reads.
    pub fn end(mut self) {
        self.leave(Duration::ZERO);
    }

    /// How the program ended, which it may still be about to do.
    pub fn ended(mut self) -> Ended {
        self.leave(LEAVING);
        self.ended_now()
    }

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
