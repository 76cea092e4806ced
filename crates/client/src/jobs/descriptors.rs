//! Enough file descriptors for many jobs.
//!
//! A verb about thousands of jobs has a connection to each of their keepers. The usual soft limit is 1,024, the hard
//! one far more; so the limit is raised where that is needed, and where it cannot be, jobs are taken in turns.

use crate::inbox::answering;
use outlive_sys::process::own;

/// What a verb has open besides: its own files, and a few at a time to look at jobs.
const BESIDES: usize = 24;

/// How many descriptors a verb about several jobs may use, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Connections to keepers, at least one.
    pub connections: usize,
    /// Jobs of which an event is reserved and which are kept from being pruned: two descriptors each.
    pub reserved: usize,
}

/// For a verb about so many jobs.
pub(crate) fn budget(jobs: usize) -> Budget {
    let wanted = BESIDES + 2 * jobs.min(answering::MOST) + jobs;
    let soft = own::open_file_limit().unwrap_or(usize::MAX);
    // The verbs that come here start no job. A server that goes on to start some gives them the raised limit.
    let most = match wanted <= soft {
        true => soft,
        false => own::raise_open_file_limit().unwrap_or(soft),
    };
    share(jobs, most)
}

fn share(jobs: usize, most: usize) -> Budget {
    let free = most.saturating_sub(BESIDES);
    let reserved = jobs.min(answering::MOST).min(free / 6);
    Budget {
        connections: free.saturating_sub(2 * reserved).clamp(1, jobs.max(1)),
        reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_is_shared_out() {
        let of = |jobs, most| {
            let Budget {
                connections,
                reserved,
            } = share(jobs, most);
            assert!(connections + 2 * reserved + BESIDES <= most.max(BESIDES + 1));
            (connections, reserved)
        };
        assert_eq!(of(1, 1024), (1, 1));
        assert_eq!(of(200, 1024), (200, 128));
        assert_eq!(of(3000, 1024), (744, 128));
        assert_eq!(of(3000, 40), (12, 2));
        assert_eq!(of(5, 10), (1, 0), "one at a time");
        assert_eq!(of(0, 1024), (1, 0));
    }
}
