//! One journal that is followed: reads what is new in it and sends that.

use super::journals::{Journals, line};
use super::outbox::Over;
use crate::hooks::{self, FarHook};
use outlive_core::far::{FromJournals, MAX_LINE};
use outlive_core::{JobDir, JobId, layout};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Records are sent together up to this size.
const BATCH: usize = 64 * 1024;

/// A job whose records the courier wants.
#[derive(Debug)]
pub struct Followed {
    pub job: JobId,
    /// The courier has the records up to this number.
    after: u64,
    /// Nothing runs any more that ran when the job was started, and this is not recorded yet.
    stopped: AtomicBool,
    position: Mutex<Position>,
    left: AtomicBool,
    /// How many times in a row it could not be followed.
    failures: AtomicU32,
}

/// How far a journal has been sent.
#[derive(Debug, Default)]
struct Position {
    offset: u64,
    /// The largest number up to there.
    seq: u64,
}

/// Why nothing was sent.
#[derive(Debug)]
pub enum NotSent {
    Over,
    Unread(io::Error),
}

/// What a record of any version has.
#[derive(Deserialize)]
struct Header {
    seq: u64,
}

impl Followed {
    pub fn new(job: JobId, after: u64, stopped: bool) -> Followed {
        Followed {
            job,
            after,
            stopped: AtomicBool::new(stopped),
            position: Mutex::default(),
            left: AtomicBool::new(false),
            failures: AtomicU32::new(0),
        }
    }

    /// The courier wants no more of it.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    pub fn is_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    /// Whether it is to be recorded that nothing of the job runs any more. Only the first call says so.
    pub fn take_stopped(&self) -> bool {
        self.stopped.swap(false, Ordering::AcqRel)
    }

    /// Counts one more failure. Returns how many there were before it.
    pub fn count_failure(&self) -> u32 {
        self.failures.fetch_add(1, Ordering::Relaxed)
    }

    pub fn forget_failures(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// Sends what the journal has and was not sent. Returns the largest number in it.
    pub fn send_news(&self, journals: &Journals) -> Result<u64, NotSent> {
        // Held while records are sent, so that they stay in order.
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = journals.outlive.job_dir(&self.job);
        loop {
            let batch = self.read(&dir, &mut position).map_err(NotSent::Unread)?;
            if batch.is_empty() || self.is_left() {
                return Ok(position.seq);
            }
            hooks::reach_far(FarHook::News);
            journals.send(&batch).map_err(|Over| NotSent::Over)?;
        }
    }

    /// The next records as messages; empty if there are no more.
    fn read(&self, dir: &JobDir, position: &mut Position) -> io::Result<Vec<u8>> {
        let mut file = layout::open(&dir.journal())?;
        // Somebody has replaced it. The courier has what it already had; the numbers tell.
        if file.metadata()?.len() < position.offset {
            *position = Position::default();
        }
        file.seek(SeekFrom::Start(position.offset))?;
        let (mut reader, mut batch, mut bytes) = (BufReader::new(file), Vec::new(), Vec::new());
        while batch.len() < BATCH {
            bytes.clear();
            let count = (&mut reader)
                .take(MAX_LINE as u64)
                .read_until(b'\n', &mut bytes)?;
            let is_whole = bytes.last() == Some(&b'\n');
            // Its writer has not finished it. What is longer than any record is passed over.
            if !is_whole && count < MAX_LINE {
                break;
            }
            position.offset += count as u64;
            if is_whole {
                bytes.pop();
                batch.extend(self.message(&bytes, &mut position.seq).unwrap_or_default());
            }
        }
        Ok(batch)
    }

    /// The message with this line, unless it is no record or the courier has it.
    fn message(&self, bytes: &[u8], seq: &mut u64) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(bytes).ok()?;
        let header: Header = serde_json::from_str(text).ok()?;
        *seq = header.seq.max(*seq);
        if header.seq <= self.after {
            return None;
        }
        let message = line(&FromJournals::Record {
            job: self.job.clone(),
            line: text.to_owned(),
        });
        (message.len() <= MAX_LINE).then_some(message)
    }
}
