//! One process, addressed so that it cannot be another.
//!
//! A pidfd refers to the process it was opened for, for ever: signals through it never hit a
//! process that got the pid later. Opened for a pid whose start time is then compared, it is a safe
//! way back to a process known from a file.

use crate::own::check;
use crate::procfs;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A reference to one process.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Exited { code: i32 },
    Signaled { signal: i32, core_dumped: bool },
}

/// What a process used, with the descendants it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    pub user_ms: u64,
    pub system_ms: u64,
    pub max_rss_bytes: u64,
}

/// Whether a signal found its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    Yes,
    /// It had ended.
    AlreadyGone,
    /// It belongs to somebody else.
    Denied,
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

impl PidFd {
    /// The process that has this pid now. Safe for one's own unreaped child; for any other process
    /// use [`PidFd::open_started`].
    pub fn open(pid: i32) -> io::Result<Option<PidFd>> {
        let Some(pid) = Pid::from_raw(pid) else {
            return Ok(None);
        };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(PidFd(fd))),
            // The second two where a thread has that number now: older kernels say INVAL, newer ones NOENT.
            Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The process that has this pid and started then, if it is still there (perhaps ended and not
    /// yet waited for).
    pub fn open_started(pid: i32, started: u64) -> io::Result<Option<PidFd>> {
        let Some(pidfd) = PidFd::open(pid)? else {
            return Ok(None);
        };
        // Looked at after opening: if it matches now, the descriptor refers to that process.
        match procfs::look(pid)? {
            Some(stat) if stat.started == started => Ok(Some(pidfd)),
            _ => Ok(None),
        }
    }

    /// Sends no signal, to see whether one could be sent.
    pub fn signal_nothing(&self) -> io::Result<()> {
        // SAFETY: a plain call on an open descriptor, without further information.
        check(unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.0.as_raw_fd(),
                0,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        })
        .map(drop)
    }

    pub fn signal(&self, signal: i32) -> io::Result<Delivered> {
        // SAFETY: any number is allowed here; the kernel refuses what is not a signal.
        let Some(signal) = rustix::process::Signal::from_named_raw(signal)
            .or_else(|| unsafe { real_time(signal) })
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match pidfd_send_signal(&self.0, signal) {
            Ok(()) => Ok(Delivered::Yes),
            Err(rustix::io::Errno::SRCH) => Ok(Delivered::AlreadyGone),
            Err(rustix::io::Errno::PERM) => Ok(Delivered::Denied),
            Err(error) => Err(error.into()),
        }
    }

    /// How this child of ours ended, or `None` while it runs. It stays to be looked at again, by
    /// this process or by the one that inherits it.
    pub fn peek(&self) -> io::Result<Option<(Status, Used)>> {
        self.wait(libc::WNOHANG | libc::WNOWAIT)
    }

    /// Lets the ended child go.
    pub fn reap(&self) -> io::Result<()> {
        self.wait(libc::WNOHANG).map(drop)
    }

    /// Sleeps until this child of ours has ended, and lets it go.
    pub fn wait_for_child(&self) -> io::Result<Status> {
        match self.wait(0)? {
            Some((status, _)) => Ok(status),
            // It does not return before there is something to tell.
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn wait(&self, options: i32) -> io::Result<Option<(Status, Used)>> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        retry_on_interrupt(|| {
            // The raw call, because libc's does not pass the usage on.
            // SAFETY: both structures are valid for writing during the call, the descriptor is open.
            unsafe {
                libc::syscall(
                    libc::SYS_waitid,
                    libc::P_PIDFD,
                    self.0.as_raw_fd(),
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
        Ok(Some((status, Used::from(&usage))))
    }

    /// How a process that is not our child ended, where the kernel tells (Linux 6.15 and later, once
    /// its parent has waited for it).
    pub fn exit_record(&self) -> Option<Status> {
        let mut info = PidfdInfo {
            mask: PIDFD_INFO_EXIT,
            ..PidfdInfo::default()
        };
        // SAFETY: the request number carries the size of `info`, which is valid for reading and
        // writing during the call.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), PIDFD_GET_INFO as _, &mut info) };
        (result == 0 && info.mask & PIDFD_INFO_EXIT != 0).then(|| Status::from_wait(info.exit_code))
    }
}

/// # Safety
/// None needed: the kernel checks the number. The constructor is unsafe because libc reserves two.
unsafe fn real_time(number: i32) -> Option<rustix::process::Signal> {
    // SAFETY: numbers from 34 to 64 are signals for programs; none is one libc keeps for itself.
    (34..=64)
        .contains(&number)
        .then(|| unsafe { rustix::process::Signal::from_raw_unchecked(number) })
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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

const PIDFD_INFO_EXIT: u64 = 1 << 3;

/// `struct pidfd_info` in its first version, which every kernel that has the call accepts.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup_id: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// `_IOWR(0xFF, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: u64 = (3 << 30) | ((size_of::<PidfdInfo>() as u64) << 16) | (0xFF << 8) | 11;

/// An ended child of this process, left as it is, or `None` when none has ended. An error when there are no
/// children at all.
pub fn any_ended_child() -> io::Result<Option<i32>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    retry_on_interrupt(|| {
        // SAFETY: `info` is valid for writing during the call.
        i64::from(unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) })
    })?;
    // SAFETY: zeroed is valid, and the kernel filled the child fields or left them zero.
    let pid = unsafe { info.assume_init().si_pid() };
    Ok((pid != 0).then_some(pid))
}

/// Kills a child that has not been reaped, so that its pid is its own. Needs no descriptor, of which there
/// may be none left.
pub fn kill_child(pid: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(
        pid,
        rustix::process::Signal::KILL,
    )?)
}

/// Lets an ended child go by its pid, which cannot have been reused: it is still ours.
pub fn reap_child(pid: i32) -> io::Result<()> {
    wait_for(pid, libc::WNOHANG).map(drop)
}

/// Sleeps until this child has ended, and lets it go.
pub fn wait_for_child(pid: i32) -> io::Result<Status> {
    wait_for(pid, 0)
}

fn wait_for(pid: i32, options: i32) -> io::Result<Status> {
    let mut status = 0;
    // SAFETY: `status` is valid for writing during the call.
    retry_on_interrupt(|| i64::from(unsafe { libc::waitpid(pid, &mut status, options) }))?;
    Ok(Status::from_wait(status))
}

/// Makes a call again that a signal interrupted.
fn retry_on_interrupt(mut call: impl FnMut() -> i64) -> io::Result<i64> {
    loop {
        match check(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::thread;

    /// A number that was a process's when it was written down may be a thread's now.
    #[test]
    fn a_thread_is_no_process() {
        // SAFETY: a call without arguments, which cannot fail.
        let tid = || unsafe { libc::gettid() };
        let found = thread::scope(|scope| {
            let looks = scope.spawn(|| (tid() != crate::own::pid(), PidFd::open(tid())));
            looks.join().expect("no panic")
        });
        let (is_other, opened) = found;
        assert!(is_other, "its number is not the process's");
        assert!(matches!(opened, Ok(None)), "{opened:?}");
    }

    #[test]
    fn a_child_is_waited_for_through_its_descriptor() {
        let child = Command::new("sh").args(["-c", "exit 7"]).spawn();
        let pid = child.expect("a shell").id() as i32;
        let pidfd = PidFd::open(pid).expect("a look").expect("a child");
        let status = pidfd.wait_for_child().expect("an end");
        assert_eq!(status, Status::Exited { code: 7 });
        assert!(pidfd.peek().is_err(), "it was let go");
    }
}
