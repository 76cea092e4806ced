//! Lines and bytes to and from the shell at a place, all with one deadline.

use super::Failure;
use crate::clock;
use crate::places::Unreached;
use outlive_core::{BootTime, quote};
use outlive_sys::poll::{self, Interest};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

/// A pipe that is ready takes this much without waiting (`PIPE_BUF`).
const PIECE: usize = 4096;

/// The most that login scripts may say before we give up.
const MAX_NOISE: usize = 1024 * 1024;

/// The longest line of ours: the directories that were tried.
const MAX_LINE: usize = 64 * 1024;

/// How much of the noise is kept to explain a failure.
const KEPT: usize = 1024;

/// The conversation with the shell.
#[derive(Debug)]
pub struct Talk<'a> {
    input: &'a mut File,
    output: &'a mut File,
    /// What a line of ours begins with.
    mark: String,
    by: BootTime,
    /// What was read and is in no line yet.
    rest: Vec<u8>,
    noise: Vec<u8>,
    skipped: usize,
}

impl<'a> Talk<'a> {
    pub fn new(input: &'a mut File, output: &'a mut File, mark: String, by: BootTime) -> Talk<'a> {
        Talk {
            input,
            output,
            mark,
            by,
            rest: Vec::new(),
            noise: Vec::new(),
            skipped: 0,
        }
    }

    /// Sends all of it. What the other side says meanwhile is kept for [`next_line`](Talk::next_line).
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let (may_read, may_write) = self.wait(true)?;
            // A shell that says something while it should listen would otherwise wait for us, and we for it.
            if may_read {
                self.read()?;
            }
            if may_write {
                let piece = &bytes[..bytes.len().min(PIECE)];
                match self.input.write(piece) {
                    Ok(count) => bytes = &bytes[count..],
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // It has ended. What it said last tells why.
                    Err(_) => return self.read_to_end(),
                }
            }
        }
        Ok(())
    }

    /// The next line of the script, without its mark.
    pub fn next_line(&mut self) -> Result<String, Failure> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Some(said) = self.own(&line) {
                    return Ok(said);
                }
                self.skip(&line)?;
            }
            if self.rest.len() > MAX_LINE {
                let part = std::mem::take(&mut self.rest);
                self.skip(&part)?;
            }
            self.wait(false)?;
            self.read()?;
        }
    }

    /// Checks that nothing came after the last line: the far end waits for us to speak first, so it would not be
    /// its.
    pub fn finish(self) -> Result<(), Failure> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(Unreached::NotUnderstood(format!(
                "something else writes to the connection, such as a login script: {}",
                shown(&self.rest)
            ))
            .into()),
        }
    }

    /// What the script says with this line, if it is one of its own.
    fn own(&self, line: &[u8]) -> Option<String> {
        let said = line.strip_prefix(self.mark.as_bytes())?;
        let said = String::from_utf8_lossy(said.strip_prefix(b" ")?);
        Some(said.trim_end().to_owned())
    }

    fn skip(&mut self, noise: &[u8]) -> Result<(), Failure> {
        self.skipped += noise.len();
        self.noise.extend_from_slice(noise);
        let surplus = self.noise.len().saturating_sub(KEPT);
        self.noise.drain(..surplus);
        match self.skipped > MAX_NOISE {
            false => Ok(()),
            true => Err(Unreached::NotUnderstood(format!(
                "no shell answers there, but something that goes on writing: {}",
                shown(&self.noise)
            ))
            .into()),
        }
    }

    /// Waits until something can be read, or written if that is wanted.
    fn wait(&self, writes: bool) -> Result<(bool, bool), Failure> {
        let left = self.by.since(clock::boot());
        if left.is_zero() {
            return Err(Unreached::TimedOut.into());
        }
        let mut on = vec![(self.output.as_fd(), Interest::Readable)];
        if writes {
            on.push((self.input.as_fd(), Interest::Writable));
        }
        let ready = poll::wait(&on, Some(left)).map_err(broken)?;
        Ok((ready[0], ready.get(1) == Some(&true)))
    }

    /// Reads what is there. Call it only if something is, or at the end.
    fn read(&mut self) -> Result<(), Failure> {
        let on = [(self.output.as_fd(), Interest::Readable)];
        // The wait may have ended for another reason.
        if poll::wait(&on, Some(std::time::Duration::ZERO)).map_err(broken)? != [true] {
            return Ok(());
        }
        let mut buffer = [0; PIECE];
        match self.output.read(&mut buffer) {
            Ok(0) => Err(self.ended()),
            Ok(count) => {
                self.rest.extend_from_slice(&buffer[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(self.ended()),
        }
    }

    fn read_to_end(&mut self) -> Result<(), Failure> {
        loop {
            self.wait(false)?;
            self.read()?;
            if self.rest.len() > MAX_NOISE {
                return Err(self.ended());
            }
        }
    }

    fn ended(&mut self) -> Failure {
        self.noise.append(&mut self.rest);
        Failure::Ended {
            noise: String::from_utf8_lossy(&self.noise).into_owned(),
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 200;
    quote::line(&String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]))
}

fn broken(error: io::Error) -> Failure {
    Unreached::Refused(format!("cannot wait for the connection: {error}")).into()
}
