//! The journal: an append-only list of events, and the only source of truth about a job.
//!
//! Reading never fails because of what a line says. It ignores an incomplete last line, counts and
//! skips damaged lines, and skips events that only a newer version knows. The holder of the job's lock
//! opens one [`JournalWriter`] to append. If the last line is incomplete, the writer first ends it with
//! a newline. Each append is one `write`, so a line can be cut short but never mixed with another.

use crate::event::{Event, FIRST_FORMAT, FORMAT, Moment, Record};
use crate::layout;
use crate::state::State;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::Path;

/// A journal that has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    pub state: State,
    /// Complete lines that could not be parsed.
    pub damaged: usize,
    /// The newest format in any line.
    pub format: u32,
    /// The last line has no newline: its writer was interrupted.
    torn: bool,
}

/// The largest sequence number that a line may have. No job has this many events, and every JSON reader
/// can represent it. A line with a larger number counts as damaged; otherwise it could leave no numbers
/// for later events.
const LAST_SEQ: u64 = 1 << 53;

/// The part of a record that can be read even if a newer version wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Header {
    pub v: u32,
    pub seq: u64,
}

/// The number and the format of a line, if it is a record of this or of a newer version.
pub fn header(line: &[u8]) -> Option<Header> {
    let header: Header = serde_json::from_slice(line).ok()?;
    (header.seq <= LAST_SEQ).then_some(header)
}

impl Journal {
    /// Applies every line to a new state.
    pub fn parse(bytes: &[u8]) -> Journal {
        let mut journal = Journal::default();
        let rest = for_each_line(bytes, |line| journal.take_line(line));
        journal.torn = !rest.is_empty();
        journal
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        if let Some(record) = record(line) {
            self.format = self.format.max(record.v);
            self.state.apply(&record);
            return;
        }
        match header(line) {
            // Its sequence number is in use, so we never reuse it.
            Some(header) => {
                self.format = self.format.max(header.v);
                self.state.seq = self.state.seq.max(header.seq);
            }
            None => self.damaged += 1,
        }
    }
}

/// Calls `take` with each record that this version understands, in order.
pub fn for_each(bytes: &[u8], mut take: impl FnMut(&Record)) {
    for_each_line(bytes, |line| {
        if let Some(record) = record(line) {
            take(&record);
        }
    });
}

fn record(line: &[u8]) -> Option<Record> {
    let record: Record = serde_json::from_slice(line).ok()?;
    (record.seq <= LAST_SEQ).then_some(record)
}

/// Calls `take` with each complete line. Returns what follows the last one.
fn for_each_line(bytes: &[u8], mut take: impl FnMut(&[u8])) -> &[u8] {
    let mut rest = bytes;
    loop {
        let mut next = rest;
        // This searches several bytes at a time, and memory can always be read.
        let length = next.skip_until(b'\n').unwrap_or(0);
        let Some(line) = rest[..length].strip_suffix(b"\n") else {
            return rest;
        };
        take(line);
        rest = next;
    }
}

/// The only writer of a journal.
#[derive(Debug)]
pub struct JournalWriter {
    file: File,
    torn: bool,
    damaged: bool,
    /// The format of new lines.
    format: u32,
    state: State,
}

/// Why a journal could not be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    #[error(
        "the journal is in format {0}, newer than this program writes ({FORMAT}); use a newer outlive"
    )]
    Newer(u32),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl JournalWriter {
    /// Whether the journal held something that could not be read.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Opens the journal for appending. The caller holds the job's lock.
    pub fn open(path: &Path) -> Result<JournalWriter, WriterError> {
        let (bytes, file) = layout::read_to_append(path)?;
        let journal = Journal::parse(&bytes);
        if journal.format > FORMAT {
            return Err(WriterError::Newer(journal.format));
        }
        Ok(JournalWriter {
            file,
            torn: journal.torn,
            damaged: journal.torn || journal.damaged > 0,
            format: journal.format.max(FIRST_FORMAT),
            state: journal.state,
        })
    }

    /// Creates the journal of a new job, whose lines have this format.
    pub fn create(path: &Path, format: u32) -> io::Result<JournalWriter> {
        Ok(JournalWriter {
            file: layout::make(path)?,
            torn: false,
            damaged: false,
            format,
            state: State::default(),
        })
    }

    /// The state after all events that were read or appended.
    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends the events in one write and applies them to the state. If the write fails, the state
    /// stays as it was, and the next append ends any incomplete line.
    pub fn append(&mut self, at: Moment, events: &[Event]) -> io::Result<()> {
        let records = self.number(at, events);
        let mut lines = Vec::new();
        if self.torn {
            lines.push(b'\n');
        }
        for record in &records {
            serde_json::to_writer(&mut lines, record)?;
            lines.push(b'\n');
        }
        self.torn = true;
        self.file.write_all(&lines)?;
        self.torn = false;
        for record in &records {
            self.state.apply(record);
        }
        Ok(())
    }

    fn number(&self, at: Moment, events: &[Event]) -> Vec<Record> {
        (self.state.seq + 1..)
            .zip(events)
            .map(|(seq, event)| Record {
                v: event.format().max(self.format),
                seq,
                at,
                event: event.clone(),
            })
            .collect()
    }

    pub fn sync(&self) -> io::Result<()> {
        layout::sync(&self.file)
    }
}

#[cfg(test)]
mod tests;
