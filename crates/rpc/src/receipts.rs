//! Answers that tell something to a session, until the harness says that it has read them.
//!
//! Until then the session does not count as told, and nobody else tells it the same. A harness that is killed before it
//! has read an answer is therefore told again, and so is one that says nothing for half a minute.

use outlive::Error;
use outlive_api::rpc::RequestId;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer is waited for to be read.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most answers that are waited for. Each may have a file open for every job that it tells of.
const MOST: usize = 64;

/// Records that the answer was read.
pub type Record = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// The answers that may not have been read.
#[derive(Default)]
pub struct Receipts(Mutex<VecDeque<(RequestId, Instant, Record)>>);

impl fmt::Debug for Receipts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipts").finish_non_exhaustive()
    }
}

impl Receipts {
    /// Keeps this until the answer was read.
    pub fn keep(&self, id: RequestId, record: Record) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((id, Instant::now(), record));
        forget_old(&mut kept);
    }

    /// The answer was read. `None` if that is said too late, or twice.
    pub fn take(&self, id: &RequestId) -> Option<Record> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget_old(&mut kept);
        let at = kept.iter().position(|(kept, ..)| kept == id)?;
        kept.remove(at).map(|(.., record)| record)
    }

    /// Lets others tell what was not read in time.
    pub fn forget_old(&self) {
        forget_old(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn forget_old(kept: &mut VecDeque<(RequestId, Instant, Record)>) {
    while kept.len() > MOST
        || kept
            .front()
            .is_some_and(|(_, at, _)| at.elapsed() > PATIENCE)
    {
        kept.pop_front();
    }
}
