//! The part of a request that says what the job waits for before it starts.

use super::{BadSetting, Run};
use crate::waiting::{After, Queue};

impl Run {
    /// Starts it when its turn in this queue comes: `NAME`, or `NAME:N` for at most N jobs at once.
    #[must_use]
    pub fn queue(mut self, queue: &str) -> Run {
        match Queue::parse(queue) {
            Ok(queue) => self.queue = Some(queue),
            Err(reason) => self.refused = Some(BadSetting::Queue(reason)),
        }
        self
    }

    /// Starts it after this job has ended. Several of these can be added.
    #[must_use]
    pub fn after(mut self, after: After) -> Run {
        self.after.push(after);
        self
    }

    pub(super) fn check_turns(&self) -> Result<(), BadSetting> {
        match &self.queue {
            Some(queue) => queue.check().map_err(BadSetting::Queue),
            None => Ok(()),
        }
    }
}
