//! Reads the files of a job of a place.
//!
//! Blocks are fetched as they are needed. Whoever reads one block after the other gets them from one stream, which the
//! place fills while they are used. A stream that breaks off is opened again where it broke.

use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, Away};
use crate::places::{Place, dial};
use outlive_core::far::{Answer, Call, FarFile, Opening};
use outlive_core::{JobId, Phase, Spec, State, state::Tail};
use outlive_sys::control::{Read, Stream};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// The unit of reading. A multiple of what callers read at once.
const BLOCK: u64 = 64 * 1024;

/// How many blocks are kept: those around a line and around the marks of the index beside it.
const MAX_KEPT: usize = 8;

/// The largest file that is fetched as a whole. The index of an output is far smaller, and so is what tells its streams.
const MOST_OF_A_FILE: usize = 256 << 20;

/// The output of a job of a place.
#[derive(Debug)]
pub(super) struct FarOutput {
    job: FarJob,
    pub size: u64,
    /// The job writes no more, so nothing of it will be dropped.
    is_final: bool,
    stream: RefCell<Option<Sequence>>,
    kept: RefCell<VecDeque<(u64, Vec<u8>)>>,
}

/// The job of a place, for reading its files.
#[derive(Debug)]
struct FarJob {
    outlive: Outlive,
    place: Place,
    id: JobId,
    within: Duration,
}

/// A stream that continues at this offset.
#[derive(Debug)]
struct Sequence {
    stream: Stream,
    at: u64,
    /// Where it was asked to end.
    to: u64,
}

impl FarOutput {
    /// `size` is that of the output, if the caller knows it.
    pub fn open(
        outlive: &Outlive,
        spec: &Spec,
        state: &State,
        size: Option<u64>,
    ) -> Result<FarOutput, Error> {
        let within = FarJob::place(outlive, spec)?.settings.reach;
        FarOutput::open_within(outlive, spec, state, size, within)
    }

    /// The place has so long for each answer.
    pub fn open_within(
        outlive: &Outlive,
        spec: &Spec,
        state: &State,
        size: Option<u64>,
        within: Duration,
    ) -> Result<FarOutput, Error> {
        let job = FarJob {
            outlive: outlive.clone(),
            place: FarJob::place(outlive, spec)?,
            id: spec.id.clone(),
            within,
        };
        let closed = closed_size(state);
        let size = match closed.or(size) {
            Some(size) => size,
            None => job.size()?,
        };
        Ok(FarOutput {
            job,
            size,
            is_final: closed.is_some(),
            stream: RefCell::default(),
            kept: RefCell::default(),
        })
    }

    /// Fills the buffer, as far as the output reaches.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_block(&mut buffer[filled..], at + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Reads bytes up to the end of a block. Returns 0 only at the end of the output.
    fn read_block(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let number = at / BLOCK;
        let copy = |block: &[u8], buffer: &mut [u8]| {
            let rest = block.get((at % BLOCK) as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            count
        };
        let mut kept = self.kept.borrow_mut();
        if let Some((_, block)) = kept.iter().find(|(kept, _)| *kept == number) {
            return Ok(copy(block, buffer));
        }
        let block = self.fetch(number).map_err(io::Error::other)?;
        let count = copy(&block, buffer);
        kept.push_back((number, block));
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
        Ok(count)
    }

    /// Whether these bytes may read as zeros because they were dropped since the size was found out.
    pub fn may_be_dropped(&self, bytes: &[u8]) -> bool {
        !self.is_final && memchr::memchr(0, bytes).is_some()
    }

    /// The size now.
    pub fn size_now(&self) -> io::Result<u64> {
        match self.is_final {
            true => Ok(self.size),
            false => self.job.size().map_err(io::Error::other),
        }
    }

    /// The bytes of a block. Shorter only at the end of the output.
    fn fetch(&self, number: u64) -> Result<Vec<u8>, Error> {
        // The size is what the place says, which may be anything.
        let begin = number.saturating_mul(BLOCK);
        let end = begin.saturating_add(BLOCK).min(self.size);
        let mut bytes = Vec::new();
        let mut open = self.stream.borrow_mut();
        while begin + (bytes.len() as u64) < end {
            let at = begin + bytes.len() as u64;
            let mut sequence = match open.take() {
                Some(sequence) if sequence.at == at && at < sequence.to => sequence,
                other => {
                    // Two blocks in a row: the rest will be wanted, too.
                    let goes_on = other.is_some_and(|before| before.at == at);
                    let to = if goes_on { self.size } else { end };
                    self.job.sequence(FarFile::Output, at, to)?
                }
            };
            let before = bytes.len();
            let is_whole = sequence.read((end - at) as usize, &mut bytes);
            sequence.at += (bytes.len() - before) as u64;
            match is_whole {
                Ended::No => *open = Some(sequence),
                // Another process truncated it.
                Ended::Well if bytes.len() == before => return Ok(bytes),
                // Only its position is needed from here on.
                Ended::Well => {
                    sequence.to = sequence.at;
                    *open = Some(sequence);
                }
                Ended::Broken => {}
            }
        }
        Ok(bytes)
    }

    /// A whole file of the job. A file that is not there is empty.
    pub fn file(&self, file: FarFile) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        loop {
            let mut sequence = self.job.sequence(file, bytes.len() as u64, u64::MAX)?;
            loop {
                match sequence.read(BLOCK as usize, &mut bytes) {
                    Ended::No if bytes.len() > MOST_OF_A_FILE => {
                        return Err(PlaceError::strange(&self.job.place.name).into());
                    }
                    Ended::No => {}
                    Ended::Well => return Ok(bytes),
                    Ended::Broken => break,
                }
            }
        }
    }
}

/// The size of an output that is complete.
pub(super) fn closed_size(state: &State) -> Option<u64> {
    match &state.phase {
        Phase::Ended {
            tail: Tail::Closed { output_bytes, .. },
            ..
        } => Some(*output_bytes),
        // Nothing has run there.
        Phase::Unwritten => Some(0),
        _ => None,
    }
}

impl FarJob {
    fn place(outlive: &Outlive, spec: &Spec) -> Result<Place, Error> {
        let place = spec.place.clone();
        away::resolve(outlive, &Away { place })
    }

    fn size(&self) -> Result<u64, Error> {
        let asked = Call::Look {
            job: self.id.clone(),
        };
        match dial::call(&self.outlive, &self.place, asked, self.within)? {
            Answer::Look { output_size, .. } => Ok(output_size),
            _ => Err(PlaceError::strange(&self.place.name).into()),
        }
    }

    fn sequence(&self, file: FarFile, from: u64, to: u64) -> Result<Sequence, Error> {
        let opening = Opening::Bytes {
            job: self.id.clone(),
            file,
            from,
            to: (to < u64::MAX).then_some(to),
        };
        let stream = dial::open(&self.outlive, &self.place, opening, self.within)?;
        Ok(Sequence {
            stream,
            at: from,
            to,
        })
    }
}

/// Whether a stream has ended.
enum Ended {
    No,
    /// There is no more.
    Well,
    /// The wire or the courier is gone.
    Broken,
}

impl Sequence {
    /// Reads at most this much, as long as there is anything.
    fn read(&mut self, most: usize, bytes: &mut Vec<u8>) -> Ended {
        let mut left = most;
        let begin = bytes.len();
        bytes.resize(begin + most, 0);
        let mut end = begin;
        let ended = loop {
            if left == 0 {
                break Ended::No;
            }
            match self.stream.read(&mut bytes[end..end + left]) {
                Ok(Read::Bytes(count)) => {
                    end += count;
                    left -= count;
                }
                Ok(Read::Empty) => {}
                Ok(Read::End) if dial::ended_well(&self.stream) => break Ended::Well,
                Ok(Read::End) | Err(_) => break Ended::Broken,
            }
        };
        bytes.truncate(end);
        ended
    }
}
