//! Starting another program: the one way in which Outlive does it.
//!
//! A process inherits which signals are blocked and which are ignored, and most programs change neither. A keeper
//! blocks all signals. A program that inherited this would not notice its own timers, the ends of its children, or
//! signals from other processes. So every program begins with no signal blocked and every signal at its default
//! action.

use crate::linux::child;
use crate::linux::own::{default_signals, naming, swap_signal_mask};
use crate::linux::probe::try_without_descriptor;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts a command.
pub fn start(command: &mut Command) -> io::Result<Child> {
    // The standard library uses this call to read from its child, and panics if it is refused.
    naming("recvfrom", try_without_descriptor(libc::SYS_recvfrom))?;
    let started = with_plain_signals(command).spawn();
    // Perhaps an earlier call was refused, which the error does not say. The gate names it.
    started.map_err(|error| child::gate().err().unwrap_or(error))
}

/// Replaces this process by a command. Returns only if that fails, with the error.
pub fn become_program(command: &mut Command) -> io::Error {
    with_plain_signals(command).exec()
}

/// Replaces this process by a command that inherits its signals: blocked signals stay blocked, and pending ones stay
/// pending. Returns only if that fails, with the error.
pub fn become_with_own_signals(command: &mut Command) -> io::Error {
    command.exec()
}

fn with_plain_signals(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only system calls may be made, and these are two of them: nothing is
    // allocated, nothing is locked, and the memory that a multi-threaded parent left behind is not touched.
    unsafe {
        command.pre_exec(|| {
            // In this order: a signal that waited is then met by its default action, not by a handler of
            // the parent's.
            default_signals();
            swap_signal_mask(0).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::own::ALL_SIGNALS;
    use std::io::Read;
    use std::process::Stdio;

    /// What a started program reports about its signals.
    fn masks(start: impl FnOnce(&mut Command) -> io::Result<Child>) -> String {
        let mut grep = Command::new("grep");
        grep.args(["-E", "^Sig(Blk|Ign)", "/proc/self/status"]);
        let mut child = start(grep.stdout(Stdio::piped())).expect("grep");
        let mut text = String::new();
        let out = child.stdout.as_mut().expect("a pipe");
        out.read_to_string(&mut text).expect("text");
        child.wait().expect("a child");
        text
    }

    /// Of this thread alone, which nextest and cargo have for one test at a time.
    #[test]
    fn a_program_begins_with_no_signal_blocked_or_ignored() {
        let before = swap_signal_mask(ALL_SIGNALS).expect("a mask");
        // SAFETY: ignoring a signal that nothing in this process waits for runs no code.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
        let (plain, inherited) = (masks(start), masks(Command::spawn));
        swap_signal_mask(before).expect("a mask");
        let none = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
        assert_eq!(plain, none);
        assert_ne!(inherited, none, "there was something to inherit");
    }

    #[test]
    fn a_program_that_cannot_be_executed_is_an_error() {
        for (program, kind) in [
            ("/not/there", io::ErrorKind::NotFound),
            ("/dev/null", io::ErrorKind::PermissionDenied),
        ] {
            let error = start(&mut Command::new(program)).expect_err("no program");
            assert_eq!(error.kind(), kind, "{program}");
        }
    }
}
