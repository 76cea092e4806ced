//! Provides file descriptors for many jobs.
//!
//! A verb about thousands of jobs opens a connection to each of their keepers. The usual soft limit is
//! 1,024 and the hard limit far higher. So the limit is raised if needed. If it cannot be raised far
//! enough, a verb that asks each keeper once handles the jobs in groups, and one that waits for all of
//! them at once is refused.

use crate::inbox::answering;
use outlive_sys::process::own;

/// What a verb has open in addition: its own files, and a few at a time for reading jobs.
const OTHER_FILES: usize = 24;

/// How many descriptors a verb about several jobs may use, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Connections to keepers, at least one.
    pub connections: usize,
    /// Jobs with a reserved event that are protected from pruning: two descriptors each.
    pub reserved: usize,
}

/// How many connections a server may have that wants this many.
pub(crate) fn connections(wanted: usize) -> usize {
    let most = raised(OTHER_FILES + wanted);
    most.saturating_sub(OTHER_FILES)
}

/// The limit on open files, raised if it is lower than this.
fn raised(wanted: usize) -> usize {
    let soft = own::open_file_limit().unwrap_or(usize::MAX);
    // Jobs that a server starts later inherit the raised limit.
    match wanted <= soft {
        true => soft,
        false => own::raise_open_file_limit().unwrap_or(soft),
    }
}

/// The budget for a verb about this many jobs.
pub(crate) fn budget(jobs: usize) -> Budget {
    let wanted = OTHER_FILES + 2 * jobs.min(answering::MAX_RESERVED_JOBS) + jobs;
    share(jobs, raised(wanted))
}

fn share(jobs: usize, most: usize) -> Budget {
    let free = most.saturating_sub(OTHER_FILES);
    let reserved = jobs.min(answering::MAX_RESERVED_JOBS).min(free / 6);
    Budget {
        connections: free.saturating_sub(2 * reserved).clamp(1, jobs.max(1)),
        reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_descriptors_are_divided() {
        let of = |jobs, most| {
            let Budget {
                connections,
                reserved,
            } = share(jobs, most);
            assert!(connections + 2 * reserved + OTHER_FILES <= most.max(OTHER_FILES + 1));
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
