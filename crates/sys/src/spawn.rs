//! Starting another program beside this one, with no copy of this process in between.
//!
//! Until it executes its program the new process borrows this one's memory, and the thread that makes it
//! sleeps. So nothing is copied, whatever this process holds; and what fails is told through that memory.

use crate::child::{environment, errno};
use crate::own::{ALL_SIGNALS, check, swap_signal_mask};
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// A program to be started.
#[derive(Debug)]
pub struct Other<'a> {
    /// Where it is: it is not looked for.
    pub program: &'a OsStr,
    /// What it is called, and its arguments.
    pub argv: &'a [OsString],
    /// In its environment, besides what is in this process's. Of two of a name the last counts.
    pub variables: &'a [(OsString, OsString)],
    pub input: BorrowedFd<'a>,
    pub output: BorrowedFd<'a>,
    /// This process's own where none is given.
    pub error: Option<BorrowedFd<'a>>,
}

/// A process that was started.
#[derive(Debug)]
pub struct Started(i32);

impl Started {
    /// Whether it has ended; it is then let go of.
    pub fn has_ended(&self) -> bool {
        // SAFETY: a child of this process, which nobody else waits for; no status is asked for.
        unsafe { libc::waitpid(self.0, ptr::null_mut(), libc::WNOHANG) != 0 }
    }

    /// Sleeps until it has ended, and lets go of it.
    fn wait(&self) {
        // SAFETY: as above.
        unsafe { libc::waitpid(self.0, ptr::null_mut(), 0) };
    }
}

/// What the new process needs, in this one's memory.
struct Plan {
    program: *const c_char,
    argv: *const *const c_char,
    environment: *const *const c_char,
    input: c_int,
    output: c_int,
    error: c_int,
    /// Why nothing was executed; zero as long as nothing failed.
    failed: c_int,
}

/// The new process's, until it executes.
type Stack = [MaybeUninit<u128>; 512];

impl Other<'_> {
    /// Starts it, with all signals blocked: nobody's handler is to run in borrowed memory.
    pub fn start(&self) -> io::Result<Started> {
        let program = CString::new(self.program.as_bytes())?;
        let argv = strings(
            self.argv
                .iter()
                .map(|argument| argument.as_bytes().to_vec()),
        )?;
        let added = strings(self.last_words().map(|(name, value)| joined(name, value)))?;
        let argv = pointers(argv.iter().map(|argument| argument.as_ptr()));
        let kept = inherited().filter(|variable| !self.replaces(variable.to_bytes()));
        let environment = kept.map(CStr::as_ptr);
        let environment = pointers(environment.chain(added.iter().map(|added| added.as_ptr())));
        let (input, _input) = clear(self.input)?;
        let (output, _output) = clear(self.output)?;
        let (error, _error) = self.error.map_or(Ok((2, None)), clear)?;
        let mut plan = Plan {
            program: program.as_ptr(),
            argv: argv.as_ptr(),
            environment: environment.as_ptr(),
            input,
            output,
            error,
            failed: 0,
        };
        let before = swap_signal_mask(ALL_SIGNALS)?;
        let started = borrow_memory(&mut plan);
        swap_signal_mask(before)?;
        let started = Started(started?);
        match plan.failed {
            0 => Ok(started),
            errno => {
                // It ends at once, and is not to be left behind.
                started.wait();
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }

    /// The variables without those that are given again later.
    fn last_words(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        let all = self.variables.iter().enumerate();
        let again =
            |at: usize, name: &OsStr| self.variables[at + 1..].iter().any(|(n, _)| n == name);
        all.filter_map(move |(at, one)| (!again(at, &one.0)).then_some(one))
    }

    fn replaces(&self, variable: &[u8]) -> bool {
        self.variables.iter().any(|(name, _)| {
            let rest = variable.strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"="))
        })
    }
}

/// Makes the new process, and returns when it has executed its program or failed to.
fn borrow_memory(plan: &mut Plan) -> io::Result<i32> {
    let mut stack: Stack = [MaybeUninit::uninit(); 512];
    // SAFETY: the new process has a stack of its own, changes nothing but that and `failed`, and is done
    // with this memory when this returns: `CLONE_VFORK` keeps the thread asleep until then.
    let pid = unsafe {
        libc::clone(
            execute,
            stack.as_mut_ptr_range().end.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            ptr::from_mut(plan).cast(),
        )
    };
    Ok(check(i64::from(pid))? as i32)
}

/// In the new process.
extern "C" fn execute(plan: *mut c_void) -> c_int {
    // SAFETY: what `borrow_memory` was given, which lives until this process has executed or ended.
    // Everything here is a plain system call on descriptors and strings that live as long.
    unsafe {
        let plan = &mut *plan.cast::<Plan>();
        if libc::dup2(plan.input, 0) != -1
            && libc::dup2(plan.output, 1) != -1
            && libc::dup2(plan.error, 2) != -1
        {
            libc::execve(plan.program, plan.argv, plan.environment);
        }
        plan.failed = errno();
        libc::_exit(127)
    }
}

fn joined(name: &OsStr, value: &OsStr) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_bytes()].concat()
}

fn strings(all: impl Iterator<Item = Vec<u8>>) -> io::Result<Vec<CString>> {
    all.map(|bytes| Ok(CString::new(bytes)?)).collect()
}

/// As a system call takes a list: its end is a null.
fn pointers(all: impl Iterator<Item = *const c_char>) -> Vec<*const c_char> {
    all.chain([ptr::null()]).collect()
}

/// The variables of this process.
fn inherited() -> impl Iterator<Item = &'static CStr> {
    let mut next = environment();
    std::iter::from_fn(move || {
        // SAFETY: a list of valid strings with a null at its end. Whoever changes it while others run
        // breaks a promise of their own.
        unsafe {
            let variable = next.as_ref()?.as_ref()?;
            next = next.add(1);
            Some(CStr::from_ptr(variable))
        }
    })
}

/// The number of a descriptor above the standard three: one of those would be closed in its own place. And
/// what holds it, where that had to be made.
fn clear(fd: BorrowedFd<'_>) -> io::Result<(RawFd, Option<OwnedFd>)> {
    Ok(match fd.as_raw_fd() {
        0..=2 => {
            let copy = fd.try_clone_to_owned()?;
            (copy.as_raw_fd(), Some(copy))
        }
        number => (number, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    fn output_of(program: &str, variables: &[(OsString, OsString)]) -> io::Result<String> {
        let null = File::open("/dev/null")?;
        let (mut reader, writer) = io::pipe()?;
        let argv = ["sh", "-c", "read line; echo \"$0 $line $CHANGED $PATH\""];
        let started = Other {
            program: OsStr::new(program),
            argv: &argv.map(OsString::from),
            variables,
            input: null.as_fd(),
            output: writer.as_fd(),
            error: Some(null.as_fd()),
        }
        .start();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        started.map(|started| {
            started.wait();
            text
        })
    }

    #[test]
    fn the_other_program_has_what_it_was_given() {
        let changed = [
            ("CHANGED", "no"),
            ("CHANGED", "yes"),
            ("PATH", "/usr/bin:/bin"),
        ];
        let variables = changed.map(|(name, value)| (name.into(), value.into()));
        let text = output_of("/bin/sh", &variables).expect("a shell");
        assert_eq!(text, "sh  yes /usr/bin:/bin\n");
    }

    #[test]
    fn what_cannot_be_executed_is_said_so_and_leaves_nothing() {
        let error = output_of("/not/there", &[]).expect_err("nothing is there");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = output_of("/dev/null", &[]).expect_err("not a program");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
