//! The journal as a keeper writes it: with space reserved for the end.
//!
//! A full disk must not prevent the outcome from being recorded. So space is reserved when a keeper begins, and only the
//! end may use the last of it. Every other event first makes sure that the space is still there.

use crate::clock;
use outlive_core::event::{Event, Moment};
use outlive_core::journal::WriterError;
use outlive_core::{JobDir, JournalWriter, State};
use outlive_sys::file;
use std::io;

/// Room for the longest end with its reasons, twice over.
const ROOM: u64 = 4096;

/// The journal and the room behind it.
#[derive(Debug)]
pub struct Ledger {
    journal: JournalWriter,
    reserved: u64,
}

impl Ledger {
    pub fn open(job: &JobDir) -> Result<Ledger, WriterError> {
        let mut ledger = Ledger {
            journal: JournalWriter::open(&job.journal())?,
            reserved: 0,
        };
        // If the filesystem cannot reserve space, the job runs without it. `doctor` reports this.
        let _ = ledger.make_room();
        Ok(ledger)
    }

    pub fn state(&self) -> &State {
        self.journal.state()
    }

    /// For recording the end, which may use the room.
    pub fn journal(&mut self) -> &mut JournalWriter {
        &mut self.journal
    }

    /// Writes events other than the end.
    pub fn write(&mut self, events: &[Event]) -> io::Result<()> {
        self.write_at(clock::moment(), events)
    }

    /// The same for events that happened at this time.
    pub fn write_at(&mut self, at: Moment, events: &[Event]) -> io::Result<()> {
        match self.make_room() {
            Err(error) if file::is_full(&error) => return Err(error),
            _ => {}
        }
        self.journal.append(at, events)
    }

    fn make_room(&mut self) -> io::Result<()> {
        let size = self.journal.file().metadata()?.len();
        if size + ROOM > self.reserved {
            file::reserve(self.journal.file(), size + 2 * ROOM)?;
            self.reserved = size + 2 * ROOM;
        }
        Ok(())
    }
}
