//! Which bytes of an output are of which stream, for a job that tells its streams apart.
//!
//! The output holds the bytes of both streams in the order in which they arrived. The file `streams` holds the
//! **switches**: "from this offset on, the bytes are of that stream". A keeper writes a switch before it takes the first
//! byte of the other stream. If it is killed in between, its successor either takes the same stream, or writes another
//! switch for the same offset, and the last one counts. So every byte has its stream, whenever a keeper dies.
//!
//! ```text
//!  block (4096 bytes)   first switch: offset × 2 + stream, 8 bytes │ distance + 1 │ distance + 1 │ … │ zeros
//! ```
//! Streams alternate, so a further switch is only its distance from the one before, in base 128: one byte for a short
//! run. A block begins with a whole switch. So readers find an offset by a binary search over the blocks, and read one.
//! A writer that is killed in the middle of an entry leaves a beginning that readers ignore and the next writer
//! overwrites. Bytes before the first switch are of an unknown stream.
//!
//! When the middle of an output is dropped, its switches are of no use. The keeper then writes the others to a new file
//! and renames it (see [`Runs::rewrite`]).

use crate::layout::{self, JobDir};
pub use outlive_api::streams::Stream;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A block fits into a page, so that no entry lies in two pages.
pub const BLOCK: usize = 4096;
/// The length of a block's first switch.
const HEAD: usize = 8;
/// The longest entry: a distance of 64 bits in base 128.
const LONGEST: usize = 10;

/// From this offset on, the bytes are of this stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    pub offset: u64,
    pub stream: Stream,
}

impl Switch {
    fn head(self) -> [u8; HEAD] {
        let stream = u64::from(self.stream == Stream::Stderr);
        (self.offset << 1 | stream).to_le_bytes()
    }

    fn of_head(head: [u8; HEAD]) -> Switch {
        let number = u64::from_le_bytes(head);
        Switch {
            offset: number >> 1,
            stream: match number & 1 {
                0 => Stream::Stdout,
                _ => Stream::Stderr,
            },
        }
    }
}

/// The complete switches of a block, and how many bytes they take.
pub fn decode(block: &[u8]) -> (Vec<Switch>, usize) {
    let Some((head, mut rest)) = block.split_first_chunk::<HEAD>() else {
        return (Vec::new(), 0);
    };
    let mut last = Switch::of_head(*head);
    let mut switches = vec![last];
    while let Some((distance, after)) = number(rest)
        && let Some(offset) = last.offset.checked_add(distance)
    {
        last = Switch {
            offset,
            stream: last.stream.other(),
        };
        switches.push(last);
        rest = after;
    }
    (switches, block.len() - rest.len())
}

/// The distance at the beginning of these bytes, and what follows it. `None` at the zeros that fill a block, and for an
/// entry that is not complete.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for (index, byte) in bytes.iter().enumerate().take(LONGEST) {
        let digit = u64::from(byte & 0x7f);
        let shifted = digit.checked_shl(7 * index as u32)?;
        if shifted >> (7 * index) != digit {
            return None;
        }
        number |= shifted;
        if byte & 0x80 == 0 {
            return Some((number.checked_sub(1)?, &bytes[index + 1..]));
        }
    }
    None
}

/// An entry to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where in the file.
    pub at: u64,
    bytes: [u8; LONGEST],
    length: usize,
    switch: Switch,
}

impl Entry {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Where the next switch goes, and how it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoder {
    length: u64,
    last: Option<Switch>,
}

impl Encoder {
    /// Continues behind the last complete entry of a file.
    pub fn resume(file: &File) -> io::Result<Encoder> {
        let blocks = blocks_of(file)?;
        let Some(index) = blocks.checked_sub(1) else {
            return Ok(Encoder::default());
        };
        let (switches, length) = decode(&read_block(file, index)?);
        Ok(Encoder {
            length: index * BLOCK as u64 + length as u64,
            last: switches.last().copied(),
        })
    }

    /// The length of the file up to its last complete entry.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The stream of the next bytes, if it is known.
    pub fn stream(&self) -> Option<Stream> {
        self.last.map(|last| last.stream)
    }

    /// The entry for this switch. `None` if the bytes are of this stream already.
    pub fn entry(&self, switch: Switch) -> Option<Entry> {
        if self.stream() == Some(switch.stream) {
            return None;
        }
        let room = BLOCK - (self.length % BLOCK as u64) as usize;
        let begun = self.last.filter(|_| room < BLOCK);
        // Offsets never go back, except if the job has truncated its own output.
        let offset = switch.offset.max(self.last.map_or(0, |last| last.offset));
        let switch = Switch { offset, ..switch };
        let mut bytes = [0; LONGEST];
        if let Some(last) = begun {
            let length = encode(offset - last.offset, &mut bytes);
            if length <= room {
                return Some(Entry {
                    at: self.length,
                    bytes,
                    length,
                    switch,
                });
            }
        }
        bytes[..HEAD].copy_from_slice(&switch.head());
        Some(Entry {
            at: self.length.next_multiple_of(BLOCK as u64),
            bytes,
            length: HEAD,
            switch,
        })
    }

    /// The entry is in the file.
    pub fn wrote(&mut self, entry: &Entry) {
        self.length = entry.at + entry.length as u64;
        self.last = Some(entry.switch);
    }
}

/// Writes a distance in base 128. Returns its length.
fn encode(distance: u64, bytes: &mut [u8; LONGEST]) -> usize {
    let mut number = u128::from(distance) + 1;
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return index + 1;
        }
        *byte |= 0x80;
    }
    LONGEST
}

/// Bytes of an output that follow each other and are of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// `None` if nobody wrote down which.
    pub stream: Option<Stream>,
    pub range: Range<u64>,
}

/// The runs of an output, for reading. Read the size of the output before this is opened: then it has the runs of all
/// bytes up to there.
#[derive(Debug)]
pub struct Runs {
    file: File,
    blocks: u64,
    /// The block that was read last.
    read: RefCell<Option<ReadBlock>>,
}

#[derive(Debug)]
struct ReadBlock {
    switches: Vec<Switch>,
    /// Where the next block begins in the output.
    end: u64,
}

impl Runs {
    /// `None` if the job has written nothing yet, or its streams are not told apart.
    pub fn open(job: &JobDir) -> io::Result<Option<Runs>> {
        match layout::open(&job.streams()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Runs::of(file?).map(Some),
        }
    }

    pub fn of(file: File) -> io::Result<Runs> {
        Ok(Runs {
            blocks: blocks_of(&file)?,
            file,
            read: RefCell::new(None),
        })
    }

    /// The run that contains this byte of the output. The last one has no end.
    pub fn at(&self, offset: u64) -> io::Result<Run> {
        if let Some(run) = self.read.borrow().as_ref().and_then(|it| it.run(offset)) {
            return Ok(run);
        }
        let next = self.first_block_after(offset)?;
        let end = self.begin(next)?.unwrap_or(u64::MAX);
        let Some(index) = next.checked_sub(1) else {
            return Ok(Run {
                stream: None,
                range: 0..end,
            });
        };
        let (switches, _) = decode(&read_block(&self.file, index)?);
        let block = ReadBlock { switches, end };
        let run = block.run(offset);
        *self.read.borrow_mut() = Some(block);
        // The job has changed its own file meanwhile.
        Ok(run.unwrap_or(Run {
            stream: None,
            range: offset..u64::MAX,
        }))
    }

    /// The first block whose first switch is after this offset; `blocks` if there is none.
    fn first_block_after(&self, offset: u64) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.begin(middle)? {
                Some(begin) if begin <= offset => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// The offset of a block's first switch; `None` if there is no such block.
    fn begin(&self, index: u64) -> io::Result<Option<u64>> {
        let mut head = [0; HEAD];
        if index >= self.blocks {
            return Ok(None);
        }
        match self.file.read_exact_at(&mut head, index * BLOCK as u64) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            other => other.map(|()| Some(Switch::of_head(head).offset)),
        }
    }

    /// Writes the switches of these ranges, which are in order, in the form of the file. Returns where it ends.
    pub fn rewrite(
        &self,
        keep: impl IntoIterator<Item = Range<u64>>,
        mut to: impl Write,
    ) -> io::Result<Encoder> {
        let mut encoder = Encoder::default();
        for range in keep {
            let mut at = range.start;
            while at < range.end {
                let run = self.at(at)?;
                let switch = run.stream.map(|stream| Switch { offset: at, stream });
                if let Some(entry) = switch.and_then(|switch| encoder.entry(switch)) {
                    let filler = (entry.at - encoder.length) as usize;
                    to.write_all(&[0; BLOCK][..filler])?;
                    to.write_all(entry.bytes())?;
                    encoder.wrote(&entry);
                }
                at = run.range.end;
            }
        }
        to.flush()?;
        Ok(encoder)
    }
}

impl ReadBlock {
    /// The run that contains this byte, if it begins in this block. Of several switches at one offset, the last counts.
    fn run(&self, offset: u64) -> Option<Run> {
        let next = self.switches.partition_point(|it| it.offset <= offset);
        let begin = self.switches.get(next.checked_sub(1)?)?;
        let end = self.switches.get(next).map_or(self.end, |it| it.offset);
        (offset < end).then_some(Run {
            stream: Some(begin.stream),
            range: begin.offset..end,
        })
    }
}

/// How many blocks have their first switch.
fn blocks_of(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let whole = length / BLOCK as u64;
    Ok(whole + u64::from(length % BLOCK as u64 >= HEAD as u64))
}

fn read_block(file: &File, index: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; BLOCK];
    let mut length = 0;
    while length < BLOCK {
        match file.read_at(&mut block[length..], index * BLOCK as u64 + length as u64) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    block.truncate(length);
    Ok(block)
}

#[cfg(test)]
mod tests;
