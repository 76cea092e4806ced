//! Tracing every system call of other processes, and making one fail. For fault tests only.
//!
//! What ships does not use this. A tracer must have one thread, and no children except those that it traces.
//!
//! ```text
//!  seize ─► Entered ─► Left ─► Entered ─► … ─► Ended
//!                │       ▲
//!                └ skip ─┴ answer: the call is not made, and fails
//! ```

use crate::linux::own::check;
use crate::linux::pidfd::Status;
use std::ffi::{c_long, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Why a traced process has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is new and has not run yet.
    Began,
    /// It is about to make a system call.
    Entered(Call),
    /// The system call has returned.
    Left,
    /// It has created a process or a thread (then `is_process` is false), which is traced, too.
    Forked { child: i32, is_process: bool },
    /// It has executed another program.
    Executed,
    /// It is about to get a signal.
    Signalled(i32),
    /// It was stopped by a signal.
    Suspended,
    /// It has ended.
    Ended(Status),
}

/// A system call: its number and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: u64,
    pub arguments: [u64; 6],
}

/// How far a process may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Up to its next system call or the next event.
    Call,
    /// Up to the next event: a new process, an executed program, a signal, its end.
    Event,
}

const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// What a stop at a system call is marked with, besides SIGTRAP.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// `struct ptrace_syscall_info`, with the larger of what may follow its head.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Info {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    _instruction: u64,
    stack: u64,
    /// The number of the call that is entered; the value that is returned.
    value: u64,
    arguments: [u64; 6],
    more: u64,
}

const ENTERED: u8 = 1;

/// Traces a process and all processes that it will create. They are killed when the tracer ends.
pub fn seize(pid: i32) -> io::Result<()> {
    let options = ptr::without_provenance_mut(OPTIONS as usize);
    request(libc::PTRACE_SEIZE, pid, ptr::null_mut(), options).map(drop)
}

/// Sleeps until one of them stops or ends. `None` if none is left.
pub fn next() -> io::Result<Option<(i32, Stop)>> {
    let mut status = 0;
    let pid = loop {
        // SAFETY: the kernel writes one number to where it is.
        let waited = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        match check(i64::from(waited)) {
            Ok(pid) => break pid as i32,
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    if !libc::WIFSTOPPED(status) {
        return Ok(Some((pid, Stop::Ended(Status::from_wait(status)))));
    }
    let stop = match (libc::WSTOPSIG(status), status >> 16) {
        (AT_CALL, _) => at_call(pid)?,
        (_, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) => forked(pid, true)?,
        (_, libc::PTRACE_EVENT_CLONE) => forked(pid, false)?,
        (_, libc::PTRACE_EVENT_EXEC) => Stop::Executed,
        (libc::SIGTRAP, libc::PTRACE_EVENT_STOP) => Stop::Began,
        (_, libc::PTRACE_EVENT_STOP) => Stop::Suspended,
        (signal, _) => Stop::Signalled(signal),
    };
    Ok(Some((pid, stop)))
}

fn at_call(pid: i32) -> io::Result<Stop> {
    let info = info(pid)?;
    Ok(match info.op {
        ENTERED => Stop::Entered(Call {
            number: info.value,
            arguments: info.arguments,
        }),
        _ => Stop::Left,
    })
}

fn forked(pid: i32, is_process: bool) -> io::Result<Stop> {
    let mut child: libc::c_ulong = 0;
    let to = ptr::from_mut(&mut child).cast();
    request(libc::PTRACE_GETEVENTMSG, pid, ptr::null_mut(), to)?;
    Ok(Stop::Forked {
        child: child as i32,
        is_process,
    })
}

/// Continues a stopped process. It gets this signal, or none if it is 0.
pub fn go_on(pid: i32, until: Until, signal: i32) -> io::Result<()> {
    let request_word = match until {
        Until::Call => libc::PTRACE_SYSCALL,
        Until::Event => libc::PTRACE_CONT,
    };
    resume(request_word, pid, signal)
}

/// Leaves a process stopped that a signal has stopped, until somebody continues it.
pub fn leave_suspended(pid: i32) -> io::Result<()> {
    resume(libc::PTRACE_LISTEN, pid, 0)
}

/// Stops tracing a process.
pub fn let_go(pid: i32) -> io::Result<()> {
    resume(libc::PTRACE_DETACH, pid, 0)
}

fn resume(word: Word, pid: i32, signal: i32) -> io::Result<()> {
    let signal = ptr::without_provenance_mut(signal as usize);
    match request(word, pid, ptr::null_mut(), signal) {
        // It was killed while it was stopped. Its end is reported next.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other.map(drop),
    }
}

/// Makes a process skip the system call that it has entered. Call [`answer`] when it has left.
pub fn skip(pid: i32) -> io::Result<()> {
    set(pid, Register::Number, -1)
}

/// Makes the system call that a process has just left fail with this error.
pub fn answer(pid: i32, errno: i32) -> io::Result<()> {
    set(pid, Register::Result, -i64::from(errno))
}

#[derive(Clone, Copy)]
enum Register {
    Number,
    Result,
}

/// By the registers themselves, which any kernel lets be written.
#[cfg(target_arch = "x86_64")]
fn set(pid: i32, register: Register, value: i64) -> io::Result<()> {
    let number = match register {
        Register::Number => libc::ORIG_RAX,
        Register::Result => libc::RAX,
    };
    let offset = ptr::without_provenance_mut(number as usize * size_of::<c_long>());
    let value = ptr::without_provenance_mut(value as usize);
    request(libc::PTRACE_POKEUSER, pid, offset, value).map(drop)
}

/// By what the kernel has for this since Linux 6.16.
#[cfg(not(target_arch = "x86_64"))]
fn set(pid: i32, register: Register, value: i64) -> io::Result<()> {
    const SET_SYSCALL_INFO: Word = 0x4212;
    let mut info = info(pid)?;
    info.value = value as u64;
    if let Register::Result = register {
        // What follows the value of a call that was left: whether that is an error.
        info.arguments[0] = 1;
    }
    let size = ptr::without_provenance_mut(size_of::<Info>());
    request(SET_SYSCALL_INFO, pid, size, ptr::from_mut(&mut info).cast()).map(drop)
}

fn info(pid: i32) -> io::Result<Info> {
    const GET_SYSCALL_INFO: Word = 0x420e;
    let mut info = MaybeUninit::<Info>::zeroed();
    let size = ptr::without_provenance_mut(size_of::<Info>());
    request(GET_SYSCALL_INFO, pid, size, info.as_mut_ptr().cast())?;
    // SAFETY: all zeroes are a value of it, and so is whatever the kernel wrote over them.
    Ok(unsafe { info.assume_init() })
}

#[cfg(target_env = "musl")]
type Word = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Word = libc::c_uint;

fn request(word: Word, pid: i32, address: *mut c_void, data: *mut c_void) -> io::Result<i64> {
    // SAFETY: where the kernel writes to `data` (the event's message, a call's information), the
    // callers here point it at a value of that kind and, where the size is asked for, give its size;
    // of all other requests both are plain numbers.
    check(unsafe { libc::ptrace(word, pid, address, data) } as i64)
}
