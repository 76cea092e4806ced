//! Pauses before a stream of a job is opened again whose earlier streams ended at once.
//!
//! Whoever asks a keeper asks the next one when the connection ends, because keepers may be killed at any time. A place
//! that ends each stream at once must not make both sides run without a pause.

use crate::clock;
use outlive_core::{BootTime, JobId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Before the third stream. The second one is opened at once: the keeper was killed, and there is another one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A stream that was open for so long is of use, whatever came over it.
const SHORT: Duration = Duration::from_millis(200);
/// After so long, nobody asks again because an earlier stream has ended.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// The jobs whose streams ended at once.
#[derive(Default)]
pub struct Haste(Mutex<HashMap<JobId, Vain>>);

/// Streams of a job that were of no use.
struct Vain {
    count: u32,
    last: BootTime,
}

impl Haste {
    /// How long to wait before a stream of this job is opened.
    pub fn pause(&self, job: &JobId) -> Duration {
        match self.lock().get(job) {
            Some(vain) if vain.count > 1 && clock::boot() < vain.last + FORGOTTEN => {
                let doubled = FIRST_PAUSE.saturating_mul(1 << (vain.count - 2).min(16));
                doubled.min(LONGEST_PAUSE)
            }
            _ => Duration::ZERO,
        }
    }

    /// A stream of this job has ended that was opened then.
    pub fn has_ended(&self, job: &JobId, opened: BootTime, was_of_use: bool) {
        let now = clock::boot();
        let mut all = self.lock();
        if was_of_use || now.since(opened) >= SHORT {
            all.remove(job);
            return;
        }
        all.retain(|_, vain| now < vain.last + FORGOTTEN);
        let vain = all.entry(job.clone()).or_insert(Vain {
            count: 0,
            last: now,
        });
        vain.count = vain.count.saturating_add(1);
        vain.last = now;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Vain>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_until_a_stream_is_of_use() {
        let (haste, job) = (Haste::default(), JobId::parse("job").unwrap());
        let mut pauses = Vec::new();
        for _ in 0..9 {
            pauses.push(haste.pause(&job).as_millis());
            haste.has_ended(&job, clock::boot(), false);
        }
        assert_eq!(pauses, [0, 0, 20, 40, 80, 160, 320, 640, 1000]);
        assert_eq!(haste.pause(&JobId::parse("other").unwrap()), Duration::ZERO);
        haste.has_ended(&job, clock::boot(), true);
        assert_eq!(haste.pause(&job), Duration::ZERO);
    }
}
