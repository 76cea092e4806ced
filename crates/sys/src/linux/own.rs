//! What a process changes about itself: session, signals, descriptors, limits.

use crate::linux::limits;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// The kernel's signal set, as its system calls take it.
pub(crate) const ALL_SIGNALS: u64 = !0;
const SIGNAL_SET_BYTES: usize = 8;
const LAST_SIGNAL: i32 = 64;

/// Starts a new session, so that this process leaves its parent's session, process group and terminal. A process that
/// leads a group already stays where it is.
pub fn new_session() -> io::Result<()> {
    // Only a failure counts. The returned value is not a session in every kernel (0 in gVisor).
    // SAFETY: a call without arguments.
    let made = check(i64::from(unsafe { libc::setsid() }));
    match rustix::process::getpgrp() == rustix::process::getpid() {
        true => Ok(()),
        false => naming("setsid", made).map(drop),
    }
}

/// From now on orphaned descendants become children of this process instead of process 1.
pub fn become_subreaper() -> io::Result<()> {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| refusal("prctl", error.into()))
}

pub fn pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

pub fn parent_pid() -> Option<i32> {
    rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get())
}

/// From now on this process is killed when its parent, which has this pid, ends.
pub fn die_with_parent(parent: i32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    match parent_pid() {
        Some(pid) if pid == parent => Ok(()),
        // The parent ended before the call.
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// From now on a [`Bell::for_relatives`] of this process rings when its parent, which has this pid, ends. Fails if it
/// has ended already.
pub fn hear_of_parent(parent: i32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(PARENT_ENDED))?;
    match parent_pid() {
        Some(pid) if pid == parent => Ok(()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// What the kernel sends to a process that asked to hear of its parent's end.
const PARENT_ENDED: rustix::process::Signal = rustix::process::Signal::USR1;

/// Kills every process of the group that is led by a child of this process.
pub fn kill_group(leader: i32) -> io::Result<()> {
    let Some(pid) = rustix::process::Pid::from_raw(leader) else {
        return Ok(());
    };
    Ok(rustix::process::kill_process_group(
        pid,
        rustix::process::Signal::KILL,
    )?)
}

/// Suspends this process until somebody continues it. This thread stops at this call: a signal to the process could be
/// taken by another thread, and this one would go on for a moment.
pub fn suspend() {
    // SAFETY: sends a signal that runs no handler to the calling thread.
    unsafe { libc::raise(libc::SIGSTOP) };
}

pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Blocks every signal, so that signals are handled only where they are asked for. Also sets SIGCHLD to its default:
/// if an ancestor ignored it, every exit status would be lost.
pub fn quiet_signals() -> io::Result<()> {
    swap_signal_mask(ALL_SIGNALS)?;
    default_signal(libc::SIGCHLD);
    Ok(())
}

/// Sets every signal to its default action, so that a child ignores no signal because an ancestor did. For a process
/// that is about to execute a program. Only makes system calls.
pub(crate) fn default_signals() {
    (1..=LAST_SIGNAL).for_each(default_signal);
}

fn default_signal(signal: i32) {
    let default = [0u64; 4];
    // SAFETY: an all-zero kernel `sigaction` means the default action. The raw call reaches the
    // two signals that libc keeps back; what cannot be set (KILL, STOP) is refused harmlessly.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            default.as_ptr(),
            std::ptr::null_mut::<u64>(),
            SIGNAL_SET_BYTES,
        );
    }
}

/// Blocks these signals and no others. Returns the signals that were blocked before.
pub(crate) fn swap_signal_mask(mask: u64) -> io::Result<u64> {
    let mut before = 0u64;
    // The raw call, since libc keeps two real-time signals back for itself.
    // SAFETY: both sets outlive the call, which reads and writes eight bytes of each.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            SIGNAL_SET_BYTES,
        )
    };
    check(result).map(|_| before)
}

/// The signals that a thread had blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalMask(pub(crate) u64);

/// Blocks all signals in this thread, and in those that it starts from now on.
pub fn block_all_signals() -> io::Result<SignalMask> {
    swap_signal_mask(ALL_SIGNALS).map(SignalMask)
}

impl SignalMask {
    /// Blocks these signals in this thread, and no others.
    pub fn restore(self) -> io::Result<()> {
        swap_signal_mask(self.0).map(drop)
    }
}

/// A descriptor that becomes readable when one of its signals has arrived. The signals must be blocked.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// Rings when a child of this process has ended, or its parent if this process asked for that
    /// ([`hear_of_parent`]). Anybody may send these signals, so a ring is a reason to look and no proof.
    pub fn for_relatives() -> io::Result<Bell> {
        Bell::new(&[libc::SIGCHLD, PARENT_ENDED.as_raw()])
    }

    /// Becomes readable when the size of this process's terminal has changed.
    pub fn for_resizes() -> io::Result<Bell> {
        Bell::blocking(&[libc::SIGWINCH])
    }

    /// Becomes readable when this process is asked to end. The signal no longer ends it directly.
    pub fn for_leaving() -> io::Result<Bell> {
        Bell::blocking(&[libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT])
    }

    /// Rings when one of these signals has arrived in the process that asks. A forked process gets its own signals.
    pub fn for_signals(signals: &[i32]) -> io::Result<Bell> {
        Bell::new(signals)
    }

    fn blocking(signals: &[i32]) -> io::Result<Bell> {
        block_signals(signals)?;
        Bell::new(signals)
    }

    fn new(signals: &[i32]) -> io::Result<Bell> {
        let set = signal_set(signals);
        // SAFETY: `set` is initialised; the call returns a new descriptor or -1.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        naming("signalfd4", check(i64::from(fd)))?;
        // SAFETY: the descriptor is new, so nobody else owns it.
        Ok(Bell(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Discards all signals that have arrived so far.
    pub fn quiet(&self) {
        while self.next_signal().is_some() {}
    }

    /// Returns the next signal that has arrived, if any.
    pub fn next_signal(&self) -> Option<i32> {
        let mut buffer = [0u8; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.0, &mut buffer[..]).ok()?;
        // The record begins with the signal's number, in four bytes.
        let number = buffer.first_chunk().copied().map(i32::from_ne_bytes);
        number.filter(|number| *number != 0)
    }
}

/// Blocks these signals in addition to those that are blocked already. From now on they wait, even if this process
/// executes another program.
pub fn block_signals(signals: &[i32]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: `set` is a valid signal set that outlives the call; no old one is asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: an all-zero signal set is valid storage, and the calls only fill it.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid, exclusively borrowed signal set.
    unsafe { libc::sigemptyset(&mut set) };
    for signal in signals {
        // SAFETY: as above; a number that is no signal is refused without effect.
        unsafe { libc::sigaddset(&mut set, *signal) };
    }
    set
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a parent handed down on standard input and output, now close-on-exec. All other inherited descriptors are
/// closed, and the standard three refer to `/dev/null`.
#[derive(Debug)]
pub struct HandedDown {
    pub input: File,
    pub output: File,
}

/// Takes what was handed down. Call this once, before anything else in a process.
///
/// Closes only what this process did not open. A descriptor that came over exec is not close-on-exec, or it
/// would not have come; everything that Outlive and the standard library open is. A process that has other
/// threads by now is refused: one of them may be between opening something and marking it.
pub fn take_handed_down() -> io::Result<HandedDown> {
    crate::linux::child::require_one_thread()?;
    // Not the standard library's own handles, because they allocate buffers that are never used.
    let input = File::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let output = File::from(rustix::stdio::stdout().try_clone_to_owned()?);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    // Close it first: listing descriptors needs one, and there may be few.
    drop(null);
    close_inherited()?;
    Ok(HandedDown { input, output })
}

/// A copy of standard error that stays open when [`take_handed_down`] redirects the original to `/dev/null`.
pub fn standard_error() -> io::Result<File> {
    Ok(File::from(rustix::stdio::stderr().try_clone_to_owned()?))
}

/// Closes every descriptor above the standard three that is not close-on-exec.
fn close_inherited() -> io::Result<()> {
    let directory = std::fs::read_dir("/proc/self/fd")?;
    let numbers = directory.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // Read the list to its end first: closing must not change it while it is read.
    for fd in numbers.filter(|fd| *fd > 2).collect::<Vec<i32>>() {
        // SAFETY: asks for the flags of a descriptor, which may be closed by now: then it is refused.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        if flags != -1 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: it came over exec, so no value of this process owns it; and no other thread is there
            // that could have opened it since.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}

/// How many files this process may have open. `None` if there is no limit, or if it cannot be read.
pub fn open_file_limit() -> Option<usize> {
    let limit = limits::get(libc::RLIMIT_NOFILE as _).ok()?;
    usize::try_from(limit.rlim_cur).ok()
}

/// Raises this process's limit on open files as far as it may. Returns the new limit.
pub fn raise_open_file_limit() -> io::Result<usize> {
    let mut limit = limits::get(libc::RLIMIT_NOFILE as _)?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is valid for reading during the call.
    check(i64::from(unsafe {
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit)
    }))?;
    Ok(usize::try_from(limit.rlim_max).unwrap_or(usize::MAX))
}

/// Names the system call in an error that says that this system refuses it, because it is too old or because of a
/// filter.
pub(crate) fn naming<T, E: Into<io::Error>>(call: &str, result: Result<T, E>) -> io::Result<T> {
    result.map_err(|error| {
        let error = error.into();
        match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM) => refusal(call, error),
            _ => error,
        }
    })
}

fn refusal(call: &str, error: io::Error) -> io::Error {
    let reason = format!("this system refuses the call {call}: {error}");
    io::Error::new(error.kind(), reason)
}

/// -1 from a C call means that `errno` tells.
pub(crate) fn check(result: i64) -> io::Result<i64> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        other => Ok(other),
    }
}
