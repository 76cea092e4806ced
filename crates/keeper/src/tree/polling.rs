//! Polling for the end of processes that the kernel does not report.
//!
//! This is needed only on kernels without pidfds, and there only for processes that are not children of this keeper:
//! those of an adopted job, or of a job whose keeper was a child of the one before it.

use outlive_core::BootTime;
use std::time::Duration;

/// When the processes are looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polling {
    pub at: BootTime,
    pause: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Polling {
    pub fn begin(now: BootTime) -> Polling {
        Polling {
            at: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
        }
    }

    pub fn go_on(self, now: BootTime) -> Polling {
        let pause = LONGEST_PAUSE.min(self.pause * 2);
        Polling {
            at: now + pause,
            pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_second() {
        let mut polling = Polling::begin(BootTime::default());
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let now = polling.at;
            polling = polling.go_on(now);
            pauses.push(polling.at.since(now).as_millis());
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    }
}
