//! The resource limits of a process: lifting its own, and giving a child those that it had before.
//!
//! A keeper lives as long as its job and writes for it. Limits that a user set for the job (`ulimit -t`, `-f`, `-v`,
//! `-s`) must not end the keeper. So it lifts its own limits as far as it may, and the job gets the old ones back.

use crate::linux::own::check;
use std::io;

/// CPU time, file size, address space, data, open files, stack.
const LIFTED: [libc::c_uint; 6] = [
    libc::RLIMIT_CPU as _,
    libc::RLIMIT_FSIZE as _,
    libc::RLIMIT_AS as _,
    libc::RLIMIT_DATA as _,
    libc::RLIMIT_NOFILE as _,
    libc::RLIMIT_STACK as _,
];

/// A stack smaller than this may be too small for our programs. They have been seen to fail with 256 KiB, in a debug
/// build.
const SMALL_STACK: libc::rlim_t = 1 << 20;
/// The usual size of a stack.
const USUAL_STACK: libc::rlim_t = 8 << 20;

/// The limits that a process had before they were lifted, and those that it has since.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    before: [libc::rlimit; LIFTED.len()],
    after: [libc::rlimit; LIFTED.len()],
}

impl Limits {
    /// Lifts the limits of this process as far as it may.
    pub fn lift() -> io::Result<Limits> {
        const NONE: libc::rlimit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        let mut limits = Limits {
            before: [NONE; LIFTED.len()],
            after: [NONE; LIFTED.len()],
        };
        for (place, resource) in LIFTED.into_iter().enumerate() {
            let before = get(resource)?;
            limits.before[place] = before;
            limits.after[place] = lift(resource, before);
        }
        Ok(limits)
    }

    /// What [`Limits::lift`] would achieve. The limits of this process are the same afterwards.
    pub fn lifted() -> io::Result<Limits> {
        let limits = Limits::lift()?;
        limits.restore();
        Ok(limits)
    }

    /// How many files this process may have open after the lift.
    pub fn open_files(&self) -> usize {
        usize::try_from(self.after[4].rlim_cur).unwrap_or(usize::MAX)
    }

    /// How large a file this process may write after the lift, in bytes.
    pub fn file_size(&self) -> u64 {
        self.after[1].rlim_cur
    }

    /// The same, and a program gets at most this much address space.
    pub fn with_address_space(mut self, bytes: u64) -> Limits {
        const PLACE: usize = 2;
        let before = &mut self.before[PLACE];
        before.rlim_max = before.rlim_max.min(bytes);
        before.rlim_cur = before.rlim_cur.min(bytes);
        self
    }

    /// Restores the old limits, in a child that is about to execute a program. Only makes system calls.
    pub(crate) fn restore(&self) {
        let lifted = LIFTED.into_iter().zip(&self.before).zip(&self.after);
        for ((resource, before), after) in lifted {
            if (before.rlim_cur, before.rlim_max) == (after.rlim_cur, after.rlim_max) {
                continue;
            }
            // SAFETY: a valid structure, read during the call.
            unsafe { libc::setrlimit(resource as _, before) };
        }
    }
}

/// A limit of this process.
pub(crate) fn get(resource: libc::c_uint) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for writing during the call.
    check(i64::from(unsafe {
        libc::getrlimit(resource as _, &mut limit)
    }))?;
    Ok(limit)
}

/// Lifts a limit as far as this process may: root to no limit, others to the hard limit. The system has a ceiling of
/// its own for open files, so that limit is only raised to the hard one. A stack is only raised to the usual size.
fn lift(resource: libc::c_uint, before: libc::rlimit) -> libc::rlimit {
    let none = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    let hard = libc::rlimit {
        rlim_cur: before.rlim_max,
        rlim_max: before.rlim_max,
    };
    let usual = libc::rlimit {
        rlim_cur: USUAL_STACK,
        rlim_max: before.rlim_max.max(USUAL_STACK),
    };
    const STACK: libc::c_uint = libc::RLIMIT_STACK as _;
    const FILES: libc::c_uint = libc::RLIMIT_NOFILE as _;
    let wanted = match resource {
        FILES => [hard, hard],
        STACK if before.rlim_cur >= SMALL_STACK => return before,
        STACK => [usual, hard],
        _ => [none, hard],
    };
    if before.rlim_cur == libc::RLIM_INFINITY {
        return before;
    }
    let set = |limit: &&libc::rlimit| {
        // SAFETY: a valid structure, read during the call.
        unsafe { libc::setrlimit(resource as _, *limit) == 0 }
    };
    wanted.iter().find(set).copied().unwrap_or(before)
}

/// Whether the stack of this process may be too small for our programs.
pub fn has_small_stack() -> bool {
    get(libc::RLIMIT_STACK as _).is_ok_and(|limit| limit.rlim_cur < SMALL_STACK)
}

/// From now on, writing beyond the limit on file sizes fails instead of ending this process.
pub fn fail_at_file_size() {
    // SAFETY: ignoring a signal runs no code of ours; what is started later has the default again.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_lifted_and_given_back() -> io::Result<()> {
        let mut low = get(LIFTED[1])?;
        low.rlim_cur = 1 << 40;
        // SAFETY: a valid structure, read during the call.
        check(i64::from(unsafe {
            libc::setrlimit(libc::RLIMIT_FSIZE, &low)
        }))?;
        let limits = Limits::lift()?;
        assert!(limits.file_size() > 1 << 40);
        assert!(limits.open_files() > 0);
        limits.restore();
        assert_eq!(get(LIFTED[1])?.rlim_cur, 1 << 40);
        // A stack of the usual size is left as it is.
        let stack = LIFTED.len() - 1;
        assert_eq!(limits.before[stack].rlim_cur, limits.after[stack].rlim_cur);
        Ok(())
    }
}
