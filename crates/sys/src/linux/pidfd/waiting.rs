//! Waiting for children: the one system call that does it.

use crate::linux::own::check;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Exited { code: i32 },
    Signaled { signal: i32, core_dumped: bool },
}

/// The resources that a process used, together with the descendants that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    pub user_ms: u64,
    pub system_ms: u64,
    pub max_rss_bytes: u64,
}

impl Status {
    /// From the number that `wait` and the kernel's exit records use.
    pub fn from_wait(status: i32) -> Status {
        match status & 0x7f {
            0 => Status::Exited {
                code: (status >> 8) & 0xff,
            },
            signal => Status::Signaled {
                signal,
                core_dumped: status & 0x80 != 0,
            },
        }
    }
}

impl From<&libc::rusage> for Used {
    fn from(usage: &libc::rusage) -> Used {
        let ms = |time: libc::timeval| time.tv_sec as u64 * 1000 + time.tv_usec as u64 / 1000;
        Used {
            user_ms: ms(usage.ru_utime),
            system_ms: ms(usage.ru_stime),
            max_rss_bytes: usage.ru_maxrss as u64 * 1024,
        }
    }
}

/// The child to wait for.
#[derive(Clone, Copy)]
pub(super) enum WaitTarget<'a> {
    Descriptor(&'a OwnedFd),
    /// By its pid, which cannot be reused before the child is reaped.
    Child(i32),
    AnyChild,
}

/// How a child has ended, or `None` if it has not. All waiting for children goes through this function.
pub(super) fn wait(target: WaitTarget<'_>, options: i32) -> io::Result<Option<(Status, Used)>> {
    Ok(wait_for_one(target, options)?.map(|(_, status, used)| (status, used)))
}

fn wait_for_one(target: WaitTarget<'_>, options: i32) -> io::Result<Option<(i32, Status, Used)>> {
    let (kind, number) = match target {
        WaitTarget::Descriptor(fd) => (libc::P_PIDFD, fd.as_raw_fd()),
        WaitTarget::Child(pid) => (libc::P_PID, pid),
        WaitTarget::AnyChild => (libc::P_ALL, 0),
    };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    retry_on_interrupt(|| {
        // The raw call, because libc's does not pass the usage on.
        // SAFETY: both structures are valid for writing during the call; a descriptor is open as long as it is
        // borrowed.
        unsafe {
            libc::syscall(
                libc::SYS_waitid,
                kind,
                number,
                info.as_mut_ptr(),
                libc::WEXITED | options,
                usage.as_mut_ptr(),
            )
        }
    })?;
    // SAFETY: zeroed structures are valid, and the kernel filled what it had to say.
    let (info, usage) = unsafe { (info.assume_init(), usage.assume_init()) };
    // SAFETY: for this call the kernel fills the child fields, or leaves them zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Ok(None);
    }
    let status = match info.si_code {
        libc::CLD_EXITED => Status::Exited { code: status },
        code => Status::Signaled {
            signal: status,
            core_dumped: code == libc::CLD_DUMPED,
        },
    };
    Ok(Some((pid, status, Used::from(&usage))))
}

/// Fails if the system refuses to wait for children.
pub(crate) fn try_waiting() -> io::Result<()> {
    // This process is not its own child. A kernel that knows the call says so.
    match wait(WaitTarget::Child(crate::linux::own::pid()), libc::WNOHANG) {
        Err(error) if error.raw_os_error() != Some(libc::ECHILD) => Err(error),
        _ => Ok(()),
    }
}

/// An ended child of this process, which is not reaped by this, or `None` if none has ended. Fails if there are no
/// children at all.
pub fn any_ended_child() -> io::Result<Option<i32>> {
    let ended = wait_for_one(WaitTarget::AnyChild, libc::WNOHANG | libc::WNOWAIT)?;
    Ok(ended.map(|(pid, _, _)| pid))
}

/// Reaps an ended child of this process by its pid, which cannot have been reused.
pub fn reap_child(pid: i32) -> io::Result<()> {
    wait(WaitTarget::Child(pid), libc::WNOHANG).map(drop)
}

/// Whether this child has ended. It is not reaped.
pub fn has_child_ended(pid: i32) -> io::Result<bool> {
    Ok(wait(WaitTarget::Child(pid), libc::WNOHANG | libc::WNOWAIT)?.is_some())
}

/// Sleeps until this child has ended, and reaps it.
pub fn wait_for_child(pid: i32) -> io::Result<Status> {
    match wait(WaitTarget::Child(pid), 0)? {
        Some((status, _)) => Ok(status),
        // The call returns only when a child has ended.
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Repeats a call that a signal interrupted.
fn retry_on_interrupt(mut call: impl FnMut() -> i64) -> io::Result<i64> {
    loop {
        match check(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
