//! Fork, and the steps between fork and exec.
//!
//! A new process is started in two steps with a [`Gate`] between them. It is forked and waits. Its parent records that it
//! exists and opens the gate. Then it executes its program, or reports through the gate why it could not. If the parent
//! dies before it opens the gate, the process ends without having done anything. Another process with a copy of the
//! parent's side can open the gate as well, and reads the same answer.
//!
//! **Between fork and exec nothing here allocates or locks**: [`Program`] holds everything that is needed.

use crate::linux::limits::Limits;
use crate::linux::own::{check, default_signals, naming, swap_signal_mask};
use crate::linux::procfs;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

mod gate;
mod parking;

pub use gate::{ExecFailure, Gate, GateInside, NO_INTERPRETER, Start, Step, gate};
pub use parking::Parking;

/// Which of the two processes this is after a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The old one; the child has this pid.
    Parent(i32),
    /// The new one.
    Child,
}

/// Forks this process. Fails if it has more than one thread. Both processes continue from here, each with its own copy
/// of everything.
pub fn fork_here() -> io::Result<Forked> {
    require_one_thread()?;
    // SAFETY: this process has a single thread, so no other thread can have started one since the check. The child
    // is a complete copy: no lock is held by a thread that does not exist in it. So the child may do anything.
    Ok(
        match naming("clone", check(i64::from(unsafe { libc::fork() })))? {
            0 => Forked::Child,
            pid => Forked::Parent(pid as i32),
        },
    )
}

/// Forks as [`fork_here`] does. The child runs `child` and exits with the returned code, or with 101 after a panic. It
/// never returns to its caller.
pub fn fork(child: impl FnOnce() -> i32) -> io::Result<i32> {
    match fork_here()? {
        Forked::Child => {
            let code = panic::catch_unwind(AssertUnwindSafe(child)).unwrap_or_else(|panicked| {
                // Dropping the payload could run any code, and the message is printed already.
                mem::forget(panicked);
                PANICKED
            });
            exit_at_once(code)
        }
        Forked::Parent(pid) => Ok(pid),
    }
}

/// The exit code of a Rust program that panicked.
const PANICKED: i32 = 101;

/// Forks a child that only exits with this code. So the parent may have any number of threads.
pub(crate) fn fork_to_exit(code: i32) -> io::Result<i32> {
    // SAFETY: the child makes one system call only, so it does not matter what other threads of the parent did.
    match check(i64::from(unsafe { libc::fork() }))? {
        0 => exit_at_once(code),
        pid => Ok(pid as i32),
    }
}

/// Ends this process without running exit handlers, which belong to the parent.
fn exit_at_once(code: i32) -> ! {
    // SAFETY: one system call, which does not return.
    unsafe { libc::_exit(code) }
}

/// Fails if this process has more than one thread.
pub(crate) fn require_one_thread() -> io::Result<()> {
    match procfs::thread_count()? {
        1 => Ok(()),
        count => Err(io::Error::other(format!(
            "this process has {count} threads, and may have only one here"
        ))),
    }
}

/// A program ready to be executed.
#[derive(Debug)]
pub struct Program {
    directory: CString,
    /// The paths to try, in order.
    candidates: Vec<CString>,
    /// Whether the program is searched for in PATH.
    is_searched_for: bool,
    /// The arguments, after the shell that runs a script without a `#!` line.
    arguments: Vec<CString>,
    /// The environment, as `NAME=value`.
    environment: Vec<CString>,
    limits: Option<Limits>,
}

const SHELL: &CStr = c"/bin/sh";

impl Program {
    /// Looks for `argv[0]` along `path` unless it names a file itself.
    pub fn new(
        argv: &[&OsStr],
        directory: &OsStr,
        path: Option<&OsStr>,
        limits: Option<Limits>,
    ) -> io::Result<Program> {
        let name = argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut arguments = vec![SHELL.to_owned()];
        for argument in argv {
            arguments.push(CString::new(argument.as_bytes())?);
        }
        Ok(Program {
            directory: CString::new(directory.as_bytes())?,
            candidates: candidates(name.as_bytes(), path)?,
            is_searched_for: is_searched_for(name.as_bytes()),
            arguments,
            environment: environment()?,
            limits,
        })
    }

    /// Forks. The child gets its own session, an empty signal mask, and these as standard input, output and error. A
    /// terminal becomes its controlling terminal. The child waits at the gate. It closes its copies of the gate's other
    /// side, so that it notices when the parent's side is gone.
    pub fn spawn(
        &self,
        [input, output, errors]: [&File; 3],
        gate: &Gate,
        parking: Option<&Parking>,
        inside: GateInside,
    ) -> io::Result<i32> {
        let mut plan = Plan {
            program: self,
            argv: pointers(&self.arguments),
            environment: pointers(&self.environment),
            input: input.as_raw_fd(),
            output: output.as_raw_fd(),
            errors: errors.as_raw_fd(),
            outside: gate.0.as_raw_fd(),
            parking: parking.map_or(NO_PARKING, Parking::numbers),
            gate: inside.0.as_raw_fd(),
        };
        fork(|| plan.run())
    }
}

/// Whether PATH is searched, as `execvp` does. A name with a slash is used as it is. An empty entry of PATH is the
/// current directory.
fn is_searched_for(name: &[u8]) -> bool {
    !name.contains(&b'/') && !name.is_empty()
}

fn candidates(name: &[u8], path: Option<&OsStr>) -> io::Result<Vec<CString>> {
    if !is_searched_for(name) {
        return Ok(vec![CString::new(name)?]);
    }
    let path = path.map_or(&b"/usr/local/bin:/bin:/usr/bin"[..], OsStrExt::as_bytes);
    path.split(|byte| *byte == b':')
        .map(|directory| {
            let directory = if directory.is_empty() {
                b"."
            } else {
                directory
            };
            Ok(CString::new([directory, b"/", name].concat())?)
        })
        .collect()
}

/// Everything the child needs, as numbers and as pointers into memory that was allocated before the fork.
struct Plan<'a> {
    program: &'a Program,
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    input: RawFd,
    output: RawFd,
    errors: RawFd,
    outside: RawFd,
    /// Where a copy of the other side may wait for a successor of the parent.
    parking: [RawFd; 2],
    gate: RawFd,
}

/// Nothing is to be closed.
const NO_PARKING: [RawFd; 2] = [-1, -1];

impl Plan<'_> {
    /// Runs in the child. Returns only if the program could not be executed.
    fn run(&mut self) -> i32 {
        // Signals are reset while the parent records this process.
        default_signals();
        // SAFETY: plain system calls on descriptors and strings that the parent made and this
        // process has its own copy of.
        let session = unsafe { libc::setsid() };
        let has_session = match session {
            -1 => Err(ExecFailure {
                step: Step::Session,
                errno: errno(),
            }),
            _ => Ok(()),
        };
        // SAFETY: as above.
        unsafe {
            // The call fails for anything but a terminal, as it should.
            libc::ioctl(self.input, libc::TIOCSCTTY as _, 0);
            libc::dup2(self.input, 0);
            libc::dup2(self.output, 1);
            libc::dup2(self.errors, 2);
            libc::close(self.outside);
        }
        for end in self.parking.into_iter().filter(|end| *end >= 0) {
            // SAFETY: as above.
            unsafe { libc::close(end) };
        }
        if let Some(limits) = &self.program.limits {
            limits.restore();
        }
        close_on_exec_from(3);
        let first = has_session.and_then(|()| self.look_ahead());
        if !self.wait_at_gate() {
            return 125;
        }
        let failure = match first {
            Ok(first) => {
                let _ = swap_signal_mask(0);
                ExecFailure {
                    step: Step::Execute,
                    errno: self.execute(first),
                }
            }
            Err(failure) => failure,
        };
        self.fail(failure)
    }

    /// Changes to the directory, and returns the first candidate that exists.
    fn look_ahead(&self) -> Result<usize, ExecFailure> {
        // SAFETY: the string is valid; only this process's directory changes.
        if unsafe { libc::chdir(self.program.directory.as_ptr()) } == -1 {
            return Err(ExecFailure {
                step: Step::Directory,
                errno: errno(),
            });
        }
        let mut candidates = self.program.candidates.iter();
        Ok(candidates.position(may_be_there).unwrap_or_default())
    }

    fn wait_at_gate(&self) -> bool {
        let mut byte = 0u8;
        loop {
            // SAFETY: one byte of valid storage; the descriptor is this process's own copy.
            match unsafe { libc::read(self.gate, (&raw mut byte).cast(), 1) } {
                -1 if errno() == libc::EINTR => {}
                count => return count == 1,
            }
        }
    }

    /// Tries each candidate from this one on. Returns the most informative error.
    fn execute(&mut self, first: usize) -> i32 {
        let mut worst = libc::ENOENT;
        let program = self.program;
        for candidate in program.candidates.iter().skip(first) {
            let is_there = may_be_there(candidate);
            if !is_there && program.is_searched_for {
                continue;
            }
            match self.execute_at(candidate) {
                libc::ENOENT | libc::ENOTDIR if !is_there => return libc::ENOENT,
                // The file exists, but its interpreter does not. This is not "not found".
                libc::ENOENT | libc::ENOTDIR => return NO_INTERPRETER,
                libc::EACCES => worst = libc::EACCES,
                other => return other,
            }
        }
        worst
    }

    fn execute_at(&mut self, program: &CString) -> i32 {
        // Skip the first argument, the shell. It is only for scripts.
        match self.execute_with(program, 1) {
            libc::ENOEXEC => self.execute_as_script(program),
            error => error,
        }
    }

    /// Runs a script without `#!` with the shell, as every shell does: `/bin/sh <program> …`. There is always an
    /// argument for the program's name, which is replaced.
    fn execute_as_script(&mut self, program: &CString) -> i32 {
        self.argv[1] = program.as_ptr();
        self.execute_with(SHELL, 0)
    }

    /// Executes a program with the arguments from this index on. Returns the error if that fails.
    fn execute_with(&self, program: &CStr, first: usize) -> i32 {
        let argv = &self.argv[first..];
        // SAFETY: both are null-terminated lists of strings that this plan's program owns, and `argv` has
        // at least one string: there is a name beside the shell.
        unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), self.environment.as_ptr()) };
        errno()
    }

    fn fail(&self, failure: ExecFailure) -> i32 {
        let answer = failure.encode();
        // SAFETY: five bytes of valid storage; nobody may be there to read, which is no matter.
        unsafe {
            libc::send(
                self.gate,
                answer.as_ptr().cast(),
                answer.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        126
    }
}

/// Checks that the file exists, which is much cheaper than trying to execute it. A directory of PATH that may not be
/// searched is skipped, as shells do: the error does not mean that the program is there.
fn may_be_there(candidate: &CString) -> bool {
    // SAFETY: a valid string.
    let found = unsafe { libc::access(candidate.as_ptr(), libc::F_OK) };
    found == 0 || !matches!(errno(), libc::ENOENT | libc::ENOTDIR | libc::EACCES)
}

/// The environment variables of this process, read through the standard library's lock.
fn environment() -> io::Result<Vec<CString>> {
    std::env::vars_os()
        .map(|(name, value)| {
            Ok(CString::new(
                [name.as_bytes(), b"=", value.as_bytes()].concat(),
            )?)
        })
        .collect()
}

/// A null-terminated list of pointers, as system calls take it.
fn pointers(all: &[CString]) -> Vec<*const libc::c_char> {
    let all = all.iter().map(|one| one.as_ptr());
    all.chain([ptr::null()]).collect()
}

fn errno() -> i32 {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// A second safeguard: every descriptor is opened close-on-exec anyway.
fn close_on_exec_from(first: u32) {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // If the call is refused (kernels before 5.9), the first safeguard is enough.
    // SAFETY: changes only what becomes of descriptors at exec.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
}

#[cfg(test)]
mod tests;
