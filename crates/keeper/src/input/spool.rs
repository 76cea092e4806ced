//! Input that is accepted but not delivered yet. It is in memory, shared by both keepers, and never on disk.
//!
//! It consists of two files in memory. The first holds the bytes. Its read position says how many bytes are delivered:
//! the kernel advances it in the same step in which it moves the bytes to the job. The second holds a record of each
//! recent write. A write counts once its record is written, which is one step, too. So each write is delivered exactly
//! once, whenever a keeper dies, and a repeated write is recognised by its id.

use outlive_core::control::WriteId;
use outlive_sys::capture::{self, Moved};
use outlive_sys::file;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How many writes are remembered by their ids.
const REMEMBERED: u64 = 4096;
const RECORD: usize = 64;
/// The memory of delivered bytes is freed after each this many bytes.
const GIVE_BACK: u64 = 1024 * 1024;
const PAGE: u64 = 4096;

/// The two files, which both keepers have open.
#[derive(Debug)]
pub struct Spool {
    bytes: File,
    records: File,
}

/// What the client sends after this piece of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Another piece of the same write.
    MoreFollows,
    EndsWrite,
    EndsInput,
}

/// What the acting keeper knows about the writes.
#[derive(Debug, Default)]
pub struct Writes {
    /// The number of records written so far.
    count: u64,
    /// The number of bytes accepted so far.
    pub committed: u64,
    /// The input ends once all accepted bytes are delivered.
    pub eof: bool,
    /// The token of a write of which more pieces will come.
    pub unfinished: Option<String>,
    ids: HashMap<String, u64>,
    given_back: u64,
}

impl Spool {
    pub fn new() -> io::Result<Spool> {
        Ok(Spool {
            bytes: file::in_memory("outlive input")?,
            records: file::in_memory("outlive writes")?,
        })
    }

    /// Reads what a predecessor accepted.
    pub fn resume(&self) -> io::Result<Writes> {
        let size = self.records.metadata()?.len();
        let mut bytes = vec![0; size as usize];
        self.records.read_exact_at(&mut bytes, 0)?;
        let mut records: Vec<Record> = bytes
            .chunks_exact(RECORD)
            .filter_map(Record::decode)
            .collect();
        records.sort_by_key(|record| record.number);
        let mut writes = Writes::default();
        for record in records {
            writes.take(record);
        }
        Ok(writes)
    }

    pub fn delivered(&self) -> io::Result<u64> {
        file::position(&self.bytes)
    }

    /// The last accepted bytes, at most `most`.
    pub fn last(&self, writes: &Writes, most: usize) -> io::Result<Vec<u8>> {
        let length = (most as u64).min(writes.committed);
        let mut bytes = vec![0; length as usize];
        self.bytes
            .read_exact_at(&mut bytes, writes.committed - length)?;
        Ok(bytes)
    }

    /// Moves accepted bytes into a pipe, as far as there is room.
    pub fn deliver(&self, to: &File, committed: u64) -> io::Result<()> {
        loop {
            let left = committed.saturating_sub(self.delivered()?);
            if left == 0 {
                return Ok(());
            }
            match capture::move_bytes(&self.bytes, to, left as usize)? {
                Moved::Bytes(_) => {}
                Moved::Empty | Moved::End => return Ok(()),
            }
        }
    }

    /// Accepts a write. If the id was accepted before, nothing is written.
    pub fn accept(
        &self,
        writes: &mut Writes,
        id: &WriteId,
        data: &[u8],
        piece: Piece,
    ) -> io::Result<()> {
        if writes.knows(id) {
            return Ok(());
        }
        // Behind the committed bytes there may be bytes of a write whose keeper died before it wrote the record. They
        // are overwritten.
        self.bytes.write_all_at(data, writes.committed)?;
        let record = Record {
            number: writes.count + 1,
            committed: writes.committed + data.len() as u64,
            eof: piece == Piece::EndsInput || writes.eof,
            more: piece == Piece::MoreFollows,
            id: id.as_str().to_owned(),
        };
        let place = (record.number % REMEMBERED) * RECORD as u64;
        self.records.write_all_at(&record.encode(), place)?;
        writes.take(record);
        self.give_back(writes)
    }

    /// Frees the memory of whole pages that are delivered. A page that the pipe still refers to stays valid for the
    /// pipe.
    fn give_back(&self, writes: &mut Writes) -> io::Result<()> {
        let until = self.delivered()? / PAGE * PAGE;
        if until - writes.given_back >= GIVE_BACK {
            file::punch(&self.bytes, 0, until)?;
            writes.given_back = until;
        }
        Ok(())
    }
}

impl Writes {
    pub fn knows(&self, id: &WriteId) -> bool {
        self.ids.contains_key(id.as_str())
    }

    fn take(&mut self, record: Record) {
        self.count = record.number;
        self.committed = record.committed;
        self.eof = record.eof;
        let token = record.id.split('#').next().unwrap_or_default();
        self.unfinished = record.more.then(|| token.to_owned());
        self.ids.insert(record.id, record.number);
        if self.ids.len() as u64 > REMEMBERED {
            let oldest = self.count - REMEMBERED;
            self.ids.retain(|_, number| *number > oldest);
        }
    }
}

/// One write. In the file: the number (8 bytes), the committed size (8), the flags (1), the length of the id (1), the
/// id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    number: u64,
    committed: u64,
    eof: bool,
    more: bool,
    id: String,
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.committed.to_ne_bytes());
        bytes[16] = u8::from(self.eof) | u8::from(self.more) << 1;
        bytes[17] = self.id.len() as u8;
        bytes[18..18 + self.id.len()].copy_from_slice(self.id.as_bytes());
        bytes
    }

    /// `None` for a slot that was never written.
    fn decode(bytes: &[u8]) -> Option<Record> {
        let number = |from: usize| {
            Some(u64::from_ne_bytes(
                bytes.get(from..from + 8)?.try_into().ok()?,
            ))
        };
        let length = usize::from(*bytes.get(17)?);
        let record = Record {
            number: number(0)?,
            committed: number(8)?,
            eof: bytes.get(16)? & 1 != 0,
            more: bytes.get(16)? & 2 != 0,
            id: String::from_utf8(bytes.get(18..18 + length)?.to_vec()).ok()?,
        };
        (record.number > 0).then_some(record)
    }
}

const _: () = assert!(18 + WriteId::MAX <= RECORD);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn id(number: usize) -> WriteId {
        WriteId::parse(&format!("w{number}")).expect("valid")
    }

    #[test]
    fn accepted_bytes_are_delivered_once_across_takeovers() {
        let spool = Spool::new().expect("made");
        let (mut reader, writer) = capture::new_pipe().expect("made");
        let mut writes = spool.resume().expect("empty");
        let mut expected = Vec::new();
        let mut received = Vec::new();
        for number in 0..9000 {
            let data = format!("line {number}\n").into_bytes();
            spool
                .accept(&mut writes, &id(number), &data, Piece::EndsWrite)
                .expect("accepted");
            spool
                .accept(&mut writes, &id(number), b"twice", Piece::EndsWrite)
                .expect("known");
            expected.extend_from_slice(&data);
            spool.deliver(&writer, writes.committed).expect("delivered");
            if number % 100 == 0 {
                // As a successor would.
                writes = spool.resume().expect("resumed");
                let _ = reader.read_to_end(&mut received);
            }
        }
        while spool.delivered().expect("known") < writes.committed {
            spool.deliver(&writer, writes.committed).expect("delivered");
            let _ = reader.read_to_end(&mut received);
        }
        assert!(
            received == expected,
            "{} of {} bytes",
            received.len(),
            expected.len()
        );
    }

    #[test]
    fn bytes_without_a_record_are_overwritten() {
        let spool = Spool::new().expect("made");
        let (mut reader, writer) = capture::new_pipe().expect("made");
        let mut writes = spool.resume().expect("empty");
        spool
            .accept(&mut writes, &id(1), b"kept ", Piece::EndsWrite)
            .expect("accepted");
        // The keeper died after the bytes and before the record.
        spool
            .bytes
            .write_all_at(b"half a wri", writes.committed)
            .expect("written");
        let mut heir = spool.resume().expect("resumed");
        spool
            .accept(&mut heir, &id(2), b"again", Piece::EndsInput)
            .expect("accepted");
        spool.deliver(&writer, heir.committed).expect("delivered");
        let mut received = Vec::new();
        let _ = reader.read_to_end(&mut received);
        assert_eq!(received, b"kept again");
        assert!(spool.resume().expect("resumed").eof);
    }
}
