//! Sleeping until a descriptor is ready.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The event to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Readable,
    Writable,
    /// Only the other side's end; for a pidfd, its process having been waited for.
    HangUp,
}

/// Sleeps until one of these descriptors is ready, and returns for each, in order, whether it is. Without a limit there is
/// no timeout. With one, no descriptor is ready if the time ran out.
pub fn wait(on: &[(BorrowedFd<'_>, Interest)], limit: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd<'_>> = on
        .iter()
        .map(|(fd, interest)| {
            let flags = match interest {
                Interest::Readable => PollFlags::IN,
                Interest::Writable => PollFlags::OUT,
                Interest::HangUp => PollFlags::empty(),
            };
            PollFd::from_borrowed_fd(*fd, flags)
        })
        .collect();
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()) as _,
    });
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        // The process was stopped and continued, or is debugged: retry.
        Err(rustix::io::Errno::INTR) => Ok(vec![false; on.len()]),
        Err(error) => Err(error.into()),
    }
}
