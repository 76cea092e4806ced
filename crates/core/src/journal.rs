//! The journal: the append-only list of events that is the truth about a job.
//!
//! Reading never fails on what a line says: a torn last line is ignored, a damaged line is counted
//! and passed over, an event of a newer program is passed over too. Writing starts where reading
//! ended: whoever holds the job's lock opens one [`JournalWriter`], which seals a torn line by
//! ending it before it appends its own. Each append is one `write`, so a line is whole or torn,
//! never mixed.

use crate::event::{Event, FORMAT, Moment, Record};
use crate::layout;
use crate::state::State;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A journal as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    pub state: State,
    /// Complete lines that are not records.
    pub damaged: usize,
    /// The newest format any line claims.
    pub format: u32,
    /// The last line has no end: its writer was stopped in the middle.
    torn: bool,
}

/// No job has more events, and any program can read this number: a line that claims more is damaged, not
/// one after which nothing could be written any more.
const LAST_SEQ: u64 = 1 << 53;

/// Just enough of a record to pass over one that a newer program wrote.
#[derive(Deserialize)]
struct Header {
    v: u32,
    seq: u64,
}

impl Journal {
    /// Reads what the file holds now.
    pub fn read(path: &Path) -> io::Result<Journal> {
        Ok(Journal::parse(&layout::read(path)?))
    }

    /// Folds the lines of a journal into a state.
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
        match serde_json::from_slice::<Header>(line) {
            // Its sequence number is taken, so that ours never repeats it.
            Ok(header) if header.seq <= LAST_SEQ => {
                self.format = self.format.max(header.v);
                self.state.seq = self.state.seq.max(header.seq);
            }
            _ => self.damaged += 1,
        }
    }
}

/// Every record of a journal that this program understands, in order.
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

/// Every whole line; returns what follows the last of them.
fn for_each_line(bytes: &[u8], mut take: impl FnMut(&[u8])) -> &[u8] {
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        take(&rest[..end]);
        rest = &rest[end + 1..];
    }
    rest
}

/// The one writer of a journal.
#[derive(Debug)]
pub struct JournalWriter {
    file: File,
    torn: bool,
    damaged: bool,
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
    /// Whether something that was written here cannot be read.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Opens the journal to append to it. The caller holds the job's lock.
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
            state: journal.state,
        })
    }

    /// Makes the journal of a new job.
    pub fn create(path: &Path) -> io::Result<JournalWriter> {
        Ok(JournalWriter {
            file: layout::make(path)?,
            torn: false,
            damaged: false,
            state: State::default(),
        })
    }

    /// The state after everything read and appended so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends the events in one write and takes them into the state. If the write fails nothing is
    /// taken, and the next append seals what it may have left behind.
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
                v: FORMAT,
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
