//! Runs a program on this machine, with a time limit.

use crate::error::NotRung;
use outlive_sys::process::PidFd;
use outlive_sys::{clock, file, spawn};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Runs a command in `sh` with these bytes on its standard input.
pub fn shell(command: &str, input: &[u8], limit: Duration) -> Result<(), NotRung> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    let input = file(input).map_err(|source| NotRung::NotRun {
        program: "sh",
        source,
    })?;
    run(shell.stdin(input), "sh", "a POSIX shell", limit)
}

/// Replaces this process by `sh` with a command and these bytes on its standard input. Returns only if
/// that fails.
pub fn become_shell(command: &str, input: &[u8]) -> NotRung {
    let failed = |source| NotRung::NotRun {
        program: "sh",
        source,
    };
    match file(input) {
        Ok(input) => {
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", command]).stdin(input);
            failed(spawn::become_program(shell))
        }
        Err(error) => failed(error),
    }
}

/// Runs a program to its end. Its standard output goes to standard error.
pub fn run(
    command: &mut Command,
    program: &'static str,
    hint: &'static str,
    limit: Duration,
) -> Result<(), NotRung> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => NotRung::NoProgram { program, hint },
        _ => NotRung::NotRun { program, source },
    };
    command.stdout(io::stderr()).stderr(Stdio::inherit());
    let mut child = spawn::start(command).map_err(failed)?;
    match end_of(&mut child, limit).map_err(failed)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(NotRung::Failed { program, status }),
        None => Err(NotRung::TooSlow { program, limit }),
    }
}

/// The exit status; `None` if the program did not end in time and was killed.
fn end_of(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = clock::boot_ms().saturating_add(limit.as_millis() as u64);
    // The child is not reaped yet, so its process ID cannot be reused.
    let Some(process) = PidFd::open(child.id() as i32)? else {
        return child.wait().map(Some);
    };
    loop {
        let left = deadline.saturating_sub(clock::boot_ms());
        if left == 0 {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        let left = Some(Duration::from_millis(left));
        process.wait_for_end(left)?;
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
    }
}

/// Uses a file in memory instead of a pipe: nobody has to wait until the program reads its input.
fn file(bytes: &[u8]) -> io::Result<File> {
    let mut file = file::in_memory("event")?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn the_command_gets_the_event_and_its_exit_code_decides() {
        assert!(shell("test \"$(cat)\" = event", b"event", LONG).is_ok());
        let error = shell("exit 3", b"", LONG).expect_err("it fails");
        assert_eq!(error.to_string(), "sh failed (exit status: 3)");
        // A program that reads nothing of a large event still rings.
        assert!(shell("true", &[b'x'; 1 << 20], LONG).is_ok());
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed() {
        let error = shell("exec sleep 100", b"", Duration::from_millis(50));
        assert!(matches!(error, Err(NotRung::TooSlow { .. })), "{error:?}");
    }
}
