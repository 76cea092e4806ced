//! A handle to one process that never refers to another.
//!
//! A pidfd refers for ever to the process for which it was opened: a signal through it never reaches a process that got
//! the same pid later. If the start time is compared after opening, it is also a safe way to find a process that is known
//! from a file.
//!
//! If a call that pidfds need is refused (kernels before 5.4, sandboxes), a process is addressed by its pid and its start
//! time, which is compared just before each signal. For a child that is not reaped this is just as safe, since its pid
//! stays its own. For other processes an instant remains in which the pid could be given to another process. And the
//! kernel does not report the end of a process that is not a child: it must be polled.

use crate::linux::own::check;
use crate::linux::poll::{self, Interest};
use crate::linux::{clock, procfs};
use rustix::process::{Pid, PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

mod waiting;

pub(crate) use waiting::try_waiting;
pub use waiting::{Status, Used, any_ended_child, has_child_ended, reap_child, wait_for_child};
use waiting::{WaitTarget, wait};

/// A reference to one process.
#[derive(Debug)]
pub struct PidFd(Address);

/// How a process is addressed.
#[derive(Debug)]
enum Address {
    Descriptor(OwnedFd),
    /// The start time is in clock ticks since boot.
    Number {
        pid: Pid,
        started: u64,
    },
}

/// How processes are addressed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    Descriptors,
    /// By number and start time, because this system call is refused.
    Numbers(&'static str),
}

const UNKNOWN: u8 = 0;
const DESCRIPTORS: u8 = 1;
/// The value for addressing by number. Added to it is the index of the refused call in [`CALLS`].
const NUMBERS: u8 = 2;
const CALLS: [&str; 3] = ["pidfd_open", "pidfd_send_signal", "waitid on a pidfd"];

/// How processes are addressed here. Tried once. Forked processes inherit the answer.
pub fn addressing() -> io::Result<Addressing> {
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    let known = match KNOWN.load(Ordering::Relaxed) {
        UNKNOWN => {
            let found = try_descriptors()?.map_or(DESCRIPTORS, |refused| NUMBERS + refused);
            KNOWN.store(found, Ordering::Relaxed);
            found
        }
        known => known,
    };
    Ok(match known.checked_sub(NUMBERS) {
        Some(refused) => Addressing::Numbers(CALLS[usize::from(refused)]),
        None => Addressing::Descriptors,
    })
}

/// The index in [`CALLS`] of the first call that is refused, if any is. Fails if this cannot be found out.
fn try_descriptors() -> io::Result<Option<u8>> {
    let own = match pidfd_open(rustix::process::getpid(), PidfdFlags::empty()) {
        Err(error) if is_scarcity(error) => return Err(error.into()),
        Err(_) => return Ok(Some(0)),
        Ok(own) => own,
    };
    if send_nothing(&own).is_err() {
        return Ok(Some(1));
    }
    // This process is not its own child. A kernel that knows the call says so.
    let waited = wait(WaitTarget::Descriptor(&own), libc::WNOHANG | libc::WNOWAIT);
    let is_known = waited.is_err_and(|error| error.raw_os_error() == Some(libc::ECHILD));
    Ok((!is_known).then_some(2))
}

/// Sends signal 0: the kernel only checks whether a signal could be sent.
fn send_nothing(process: &OwnedFd) -> io::Result<i64> {
    // SAFETY: The descriptor is open for the whole call, and no pointer but null is passed. Signal 0 sends nothing.
    check(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            0,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    })
}

/// Whether a call failed because a resource was exhausted.
fn is_scarcity(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// Whether a signal found its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    Yes,
    /// The process had ended.
    AlreadyGone,
    /// The process belongs to another user.
    Denied,
}

impl PidFd {
    /// The process that has this pid now. Safe only for a child of this process that is not reaped. For other
    /// processes use [`PidFd::open_started`].
    pub fn open(pid: i32) -> io::Result<Option<PidFd>> {
        let Some(pid) = Pid::from_raw(pid) else {
            return Ok(None);
        };
        if let Addressing::Numbers(_) = addressing()? {
            return PidFd::by_number(pid);
        }
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(PidFd(Address::Descriptor(fd)))),
            // INVAL (older kernels) and NOENT (newer ones) mean that the number is a thread's now.
            Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn by_number(pid: Pid) -> io::Result<Option<PidFd>> {
        let number = pid.as_raw_nonzero().get();
        let found = procfs::look(number)?.filter(|_| procfs::is_process(number));
        Ok(found.map(|stat| {
            PidFd(Address::Number {
                pid,
                started: stat.started,
            })
        }))
    }

    /// The process with this pid and start time. `None` if it is gone. It may have ended if it is not reaped yet.
    pub fn open_started(pid: i32, started: u64) -> io::Result<Option<PidFd>> {
        let Some(pidfd) = PidFd::open(pid)? else {
            return Ok(None);
        };
        // This is checked after opening. If it matches now, the descriptor refers to that process.
        match procfs::look(pid)? {
            Some(stat) if stat.started == started => Ok(Some(pidfd)),
            _ => Ok(None),
        }
    }

    /// A descriptor that becomes readable when the process ends. `None` if processes are addressed by pid.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Address::Descriptor(fd) => Some(fd.as_fd()),
            Address::Number { .. } => None,
        }
    }

    /// Sleeps until the process has ended, whether or not it is a child. With a limit, returns at the latest then.
    /// Returns whether the process has ended.
    pub fn wait_for_end(&self, limit: Option<Duration>) -> io::Result<bool> {
        const FIRST_PAUSE: Duration = Duration::from_millis(1);
        const LONGEST_PAUSE: Duration = Duration::from_millis(500);
        if let Some(bell) = self.bell() {
            loop {
                let has_ended = poll::wait(&[(bell, Interest::Readable)], limit)? == [true];
                if has_ended || limit.is_some() {
                    return Ok(has_ended);
                }
            }
        }
        let deadline = limit.map(|limit| clock::boot_ms() + limit.as_millis() as u64);
        let mut pause = FIRST_PAUSE;
        while self.is_running()? {
            let left = deadline.map(|at| at.saturating_sub(clock::boot_ms()));
            if left == Some(0) {
                return Ok(false);
            }
            thread::sleep(left.map_or(pause, |left| pause.min(Duration::from_millis(left))));
            pause = LONGEST_PAUSE.min(pause * 2);
        }
        Ok(true)
    }

    /// Whether a process that is addressed by pid still runs.
    fn is_running(&self) -> io::Result<bool> {
        match &self.0 {
            Address::Number { pid, started } => {
                let stat = procfs::look(pid.as_raw_nonzero().get())?;
                Ok(stat.is_some_and(|stat| stat.started == *started && !stat.is_zombie()))
            }
            Address::Descriptor(_) => Ok(true),
        }
    }

    pub fn signal(&self, signal: i32) -> io::Result<Delivered> {
        let signal = named(signal)?;
        let sent = match &self.0 {
            Address::Descriptor(fd) => pidfd_send_signal(fd, signal),
            Address::Number { pid, started } => match procfs::look(pid.as_raw_nonzero().get())? {
                Some(stat) if stat.started == *started => kill_process(*pid, signal),
                _ => return Ok(Delivered::AlreadyGone),
            },
        };
        match sent {
            Ok(()) => Ok(Delivered::Yes),
            Err(rustix::io::Errno::SRCH) => Ok(Delivered::AlreadyGone),
            Err(rustix::io::Errno::PERM) => Ok(Delivered::Denied),
            Err(error) => Err(error.into()),
        }
    }

    /// What would become of a signal to it. Sends none.
    pub fn may_signal(&self) -> io::Result<Delivered> {
        let asked = match &self.0 {
            Address::Descriptor(fd) => send_nothing(fd).map(drop),
            Address::Number { pid, started } => match procfs::look(pid.as_raw_nonzero().get())? {
                Some(stat) if stat.started == *started => {
                    rustix::process::test_kill_process(*pid).map_err(io::Error::from)
                }
                _ => return Ok(Delivered::AlreadyGone),
            },
        };
        match asked.as_ref().map_err(io::Error::raw_os_error) {
            Ok(()) => Ok(Delivered::Yes),
            Err(Some(libc::ESRCH)) => Ok(Delivered::AlreadyGone),
            Err(Some(libc::EPERM)) => Ok(Delivered::Denied),
            Err(_) => asked.map(|()| Delivered::Yes),
        }
    }

    /// How this child of ours ended, or `None` while it runs. The child is not reaped, so that this process or its
    /// successor can ask again.
    pub fn peek(&self) -> io::Result<Option<(Status, Used)>> {
        wait(self.wait_target(), libc::WNOHANG | libc::WNOWAIT)
    }

    /// Reaps the ended child.
    pub fn reap(&self) -> io::Result<()> {
        wait(self.wait_target(), libc::WNOHANG).map(drop)
    }

    fn wait_target(&self) -> WaitTarget<'_> {
        match &self.0 {
            Address::Descriptor(fd) => WaitTarget::Descriptor(fd),
            Address::Number { pid, .. } => WaitTarget::Child(pid.as_raw_nonzero().get()),
        }
    }

    /// How a process that is not our child ended, if the kernel tells (Linux 6.15 and later, once its parent has
    /// reaped it).
    pub fn exit_record(&self) -> Option<Status> {
        let Address::Descriptor(fd) = &self.0 else {
            return None;
        };
        let mut info = PidfdInfo {
            mask: PIDFD_INFO_EXIT,
            ..PidfdInfo::default()
        };
        // SAFETY: the request number carries the size of `info`, which is valid for reading and
        // writing during the call.
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), PIDFD_GET_INFO as _, &mut info) };
        (result == 0 && info.mask & PIDFD_INFO_EXIT != 0).then(|| Status::from_wait(info.exit_code))
    }
}

/// The signal with this number.
fn named(signal: i32) -> io::Result<rustix::process::Signal> {
    rustix::process::Signal::from_named_raw(signal)
        // SAFETY: any number is allowed here; the kernel refuses what is not a signal.
        .or_else(|| unsafe { real_time(signal) })
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// # Safety
/// None needed: the kernel checks the number. The constructor is unsafe because libc reserves two.
unsafe fn real_time(number: i32) -> Option<rustix::process::Signal> {
    // SAFETY: numbers from 34 to 64 are signals for programs; none is one libc keeps for itself.
    (34..=64)
        .contains(&number)
        .then(|| unsafe { rustix::process::Signal::from_raw_unchecked(number) })
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

/// Kills a child that has not been reaped, so its pid cannot have been reused. Needs no descriptor, in case none is
/// free.
pub fn kill_child(pid: i32) -> io::Result<()> {
    signal_child(pid, libc::SIGKILL)
}

/// Sends a signal to such a child.
pub fn signal_child(pid: i32, signal: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, named(signal)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::thread;

    /// A number that was a process's when it was recorded may be a thread's now.
    #[test]
    fn a_thread_number_is_not_opened_as_a_process() {
        // SAFETY: a call without arguments, which cannot fail.
        let tid = || unsafe { libc::gettid() };
        let found = thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let number = Pid::from_raw(tid()).expect("a number");
                let opened = [PidFd::open(tid()), PidFd::by_number(number)];
                (tid() != crate::linux::own::pid(), opened)
            });
            looks.join().expect("no panic")
        });
        let (is_other, opened) = found;
        assert!(is_other, "its number is not the process's");
        assert!(matches!(opened, [Ok(None), Ok(None)]), "{opened:?}");
    }

    #[test]
    fn a_child_is_waited_for_however_it_is_addressed() {
        for by_number in [false, true] {
            let mut shell = Command::new("sh");
            shell.args(["-c", "read x; exit 7"]).stdin(Stdio::piped());
            let mut child = shell.spawn().expect("a shell");
            let pid = child.id() as i32;
            let process = open(pid, by_number).expect("a child");
            assert!(matches!(process.peek(), Ok(None)), "it runs");
            let soon = Some(Duration::from_millis(5));
            assert!(matches!(process.wait_for_end(soon), Ok(false)));
            drop(child.stdin.take());
            assert!(matches!(process.wait_for_end(None), Ok(true)));
            let (status, _) = process.peek().expect("a look").expect("an end");
            assert_eq!(status, Status::Exited { code: 7 });
            process.reap().expect("it is let go");
            assert!(
                process.peek().is_err() && child.wait().is_err(),
                "it was let go"
            );
            let late = process.signal(libc::SIGTERM).expect("no harm");
            assert_eq!(late, Delivered::AlreadyGone);
        }
    }

    fn open(pid: i32, by_number: bool) -> Option<PidFd> {
        match by_number {
            true => PidFd::by_number(Pid::from_raw(pid)?),
            false => PidFd::open(pid),
        }
        .expect("a look")
    }

    #[test]
    fn a_pid_with_another_start_time_is_another_process() {
        let mut child = Command::new("cat");
        let mut child = child.stdin(Stdio::piped()).spawn().expect("cat");
        let pid = Pid::from_raw(child.id() as i32).expect("a pid");
        let earlier = PidFd(Address::Number { pid, started: 1 });
        let sent = earlier.signal(libc::SIGKILL).expect("a look");
        let is_gone = earlier.wait_for_end(None).expect("a look");
        drop(child.stdin.take());
        let status = child.wait().expect("an end");
        assert_eq!((sent, is_gone), (Delivered::AlreadyGone, true));
        assert!(status.success(), "it was not hit: {status}");
    }
}
