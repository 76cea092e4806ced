//! Reading a job's output: a part of it, or all of it as it comes.

use crate::connection::Connection;
use crate::error::Error;
use crate::outlive::Outlive;
use crate::presence;
use memchr::{memchr_iter, memrchr_iter};
use outlive_core::control::Request;
use outlive_core::{JobId, State};
use outlive_sys::clock;
use outlive_sys::poll::{self, Interest};
use serde::Serialize;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

const CHUNK: u64 = 64 * 1024;

/// The output of one job, as far as it had come when this was opened.
#[derive(Debug)]
pub struct Output {
    /// `None` when nothing has been written, not even by a keeper.
    file: Option<File>,
    pub size: u64,
    pub dropped_bytes: u64,
}

impl Output {
    pub fn open(outlive: &Outlive, id: &JobId, state: &State) -> Result<Output, Error> {
        let path = outlive.job_dir(id).output();
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other.map_err(Error::io("cannot open", &path))?),
        };
        let size = match &file {
            Some(file) => file
                .metadata()
                .map_err(Error::io("cannot read", &path))?
                .len(),
            None => 0,
        };
        let dropped_bytes = state
            .end()
            .map_or(0, |end| end.dropped_bytes)
            .max(state.dropped_bytes());
        Ok(Output {
            file,
            size,
            dropped_bytes,
        })
    }

    /// The bytes of a range, a chunk at a time.
    pub fn chunks(&self, range: Range<u64>) -> impl Iterator<Item = io::Result<Vec<u8>>> + '_ {
        let end = range.end.min(self.size);
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let chunk = self.read(at, (end - at).min(CHUNK));
            if let Ok(bytes) = &chunk {
                at += bytes.len() as u64;
                if bytes.is_empty() {
                    return None;
                }
            }
            Some(chunk)
        })
    }

    fn read(&self, at: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; most as usize];
        let count = match &self.file {
            Some(file) => file.read_at(&mut buffer, at)?,
            None => 0,
        };
        buffer.truncate(count);
        Ok(buffer)
    }

    /// Where the last `lines` lines begin.
    pub fn tail(&self, lines: u64) -> io::Result<u64> {
        if lines == 0 {
            return Ok(self.size);
        }
        let mut left = lines;
        let mut end = self.size;
        while end > 0 {
            let start = end.saturating_sub(CHUNK);
            let bytes = self.read(start, end - start)?;
            for place in memrchr_iter(b'\n', &bytes) {
                let after = start + place as u64 + 1;
                // The newline that ends the last line begins none.
                if after == self.size {
                    continue;
                }
                left -= 1;
                if left == 0 {
                    return Ok(after);
                }
            }
            end = start;
        }
        Ok(0)
    }

    fn newlines(&self, range: Range<u64>) -> io::Result<u64> {
        let mut count = 0;
        for chunk in self.chunks(range) {
            count += memchr_iter(b'\n', &chunk?).count() as u64;
        }
        Ok(count)
    }

    /// A range as text, with where it lies.
    pub fn text(&self, id: &JobId, range: Range<u64>) -> io::Result<LogText> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        let mut bytes = Vec::new();
        for chunk in self.chunks(range.clone()) {
            bytes.extend(chunk?);
        }
        // The line a byte is in is one more than the newlines before it.
        let from_line = 1 + self.newlines(0..range.start)?;
        let to_line = match range.is_empty() {
            true => from_line - 1,
            false => from_line + self.newlines(range.start..range.end - 1)?,
        };
        let total_lines = match self.size {
            0 => 0,
            size => 1 + self.newlines(0..size - 1)?,
        };
        Ok(LogText {
            id: id.clone(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            from_line,
            to_line,
            total_lines,
            from_byte: range.start,
            to_byte: range.end,
            total_bytes: self.size,
            dropped_bytes: self.dropped_bytes,
            next_cursor: range.end.to_string(),
        })
    }
}

/// A part of an output in the interface's JSON. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogText {
    pub id: JobId,
    pub text: String,
    pub from_line: u64,
    pub to_line: u64,
    pub total_lines: u64,
    pub from_byte: u64,
    pub to_byte: u64,
    pub total_bytes: u64,
    pub dropped_bytes: u64,
    pub next_cursor: String,
}

/// The output as it comes. It ends with the job, however often its keeper is replaced.
#[derive(Debug)]
pub struct Follow<'a> {
    outlive: &'a Outlive,
    id: JobId,
    position: u64,
    /// In milliseconds since boot.
    deadline: Option<u64>,
}

/// What following brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    Bytes {
        at: u64,
        bytes: Vec<u8>,
    },
    /// The job has ended, and this was all it wrote.
    Ended,
    OutOfTime,
}

impl<'a> Follow<'a> {
    pub fn new(outlive: &'a Outlive, id: &JobId, from: u64) -> Follow<'a> {
        Follow {
            outlive,
            id: id.clone(),
            position: from,
            deadline: None,
        }
    }

    /// Gives up after this long.
    pub fn at_most(mut self, limit: Duration) -> Follow<'a> {
        self.deadline = Some(clock::boot_ms().saturating_add(limit.as_millis() as u64));
        self
    }

    /// Waits for more.
    pub fn next_chunk(&mut self) -> Result<Chunk, Error> {
        loop {
            // Read before the output: what was written before the end is there once the end is.
            let (_, state) = presence::meet(self.outlive, &self.id)?;
            if let Some(chunk) = self.read(&state)? {
                return Ok(chunk);
            }
            if state.end().is_some() {
                return Ok(Chunk::Ended);
            }
            let news = Request::News {
                seq: state.seq,
                output: Some(self.position),
            };
            if let Some(mut connection) = presence::reach(self.outlive, &self.id)? {
                connection.send(&news)?;
                if !wait_until(&connection, self.deadline)? {
                    return Ok(Chunk::OutOfTime);
                }
                // Whatever it is, the files tell.
                connection.receive(&self.id)?;
            }
        }
    }

    fn read(&mut self, state: &State) -> Result<Option<Chunk>, Error> {
        let output = Output::open(self.outlive, &self.id, state)?;
        let at = self.position;
        let Some(bytes) = output.chunks(at..output.size).next() else {
            return Ok(None);
        };
        let bytes = bytes.map_err(Error::io(
            "cannot read",
            self.outlive.job_dir(&self.id).output(),
        ))?;
        self.position += bytes.len() as u64;
        Ok(Some(Chunk::Bytes { at, bytes }))
    }
}

/// Whether an answer came in time.
fn wait_until(connection: &Connection, deadline: Option<u64>) -> Result<bool, Error> {
    let limit = deadline.map(|at| Duration::from_millis(at.saturating_sub(clock::boot_ms())));
    let ready = poll::wait(&[(connection.as_fd(), Interest::Readable)], limit)
        .map_err(Error::io("cannot wait for", "a keeper"))?;
    Ok(ready == [true] || deadline.is_none_or(|at| clock::boot_ms() < at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn output(bytes: &[u8]) -> Output {
        let file = tempfile::tempfile().expect("a temporary file");
        file.write_all_at(bytes, 0).expect("written");
        Output {
            file: Some(file),
            size: bytes.len() as u64,
            dropped_bytes: 0,
        }
    }

    /// The line each byte is in, counted the plain way.
    fn line_of(bytes: &[u8], at: usize) -> u64 {
        1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64
    }

    proptest! {
        #[test]
        fn the_tail_is_the_last_lines(text in "[ab\n]{0,60}", lines in 0u64..8) {
            let output = output(text.as_bytes());
            let start = output.tail(lines).expect("read") as usize;
            let all: Vec<&str> = text.split_inclusive('\n').collect();
            let expected: String = all[all.len().saturating_sub(lines as usize)..].concat();
            prop_assert_eq!(&text[start..], expected);
        }

        #[test]
        fn line_numbers_are_those_of_the_whole(text in "[ab\n]{1,60}", a in 0usize..60, b in 0usize..60) {
            let bytes = text.as_bytes();
            let (from, to) = (a.min(b).min(bytes.len()), a.max(b).min(bytes.len()));
            let id = JobId::parse("x").expect("valid");
            let log = output(bytes).text(&id, from as u64..to as u64).expect("read");
            prop_assert_eq!(&log.text, &text[from..to]);
            prop_assert_eq!(log.total_lines, line_of(bytes, bytes.len() - 1));
            if from < to {
                prop_assert_eq!(log.from_line, line_of(bytes, from));
                prop_assert_eq!(log.to_line, line_of(bytes, to - 1));
            }
        }
    }
}
