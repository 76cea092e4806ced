//! Polling for the end of processes that the kernel does not report.
//!
//! This is needed only on kernels without pidfds, and there only for processes that are not children of this keeper:
//! those of an adopted job, or of a job whose keeper was a child of the one before it.

/// When the processes are looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polling {
    /// In milliseconds since boot.
    pub at: u64,
    pause_ms: u64,
}

const FIRST_PAUSE_MS: u64 = 10;
const LONGEST_PAUSE_MS: u64 = 1000;

impl Polling {
    pub fn begin(now: u64) -> Polling {
        Polling {
            at: now + FIRST_PAUSE_MS,
            pause_ms: FIRST_PAUSE_MS,
        }
    }

    pub fn go_on(self, now: u64) -> Polling {
        let pause_ms = LONGEST_PAUSE_MS.min(self.pause_ms * 2);
        Polling {
            at: now + pause_ms,
            pause_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_second() {
        let mut polling = Polling::begin(0);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let now = polling.at;
            polling = polling.go_on(now);
            pauses.push(polling.at - now);
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    }
}
