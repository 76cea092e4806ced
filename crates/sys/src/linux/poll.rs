//! Sleeping until the kernel has something.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What to wake for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Readable,
    Writable,
    /// Only the other side's end; for a pidfd, its process having been waited for.
    HangUp,
}

/// Sleeps until one of these has something, and says which have (in order). Without a limit it
/// sleeps for as long as that takes; with one, an empty answer means that time ran out.
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
        // A stopped and continued process, or a debugger: look again.
        Err(rustix::io::Errno::INTR) => Ok(vec![false; on.len()]),
        Err(error) => Err(error.into()),
    }
}
