//! Running a program of this machine, for a limited time.

use crate::error::NotRung;
use outlive_sys::process::PidFd;
use outlive_sys::{clock, file, spawn};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Has `sh` run a command with these bytes on its standard input.
pub fn shell(command: &str, input: &[u8], limit: Duration) -> Result<(), NotRung> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    let input = file(input).map_err(|source| NotRung::NotRun {
        program: "sh",
        source,
    })?;
    run(shell.stdin(input), "sh", "a POSIX shell", limit)
}

/// Becomes `sh` with a command and these bytes on its standard input; returns only where that fails.
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

/// Runs a program to its end. What it prints goes where words go.
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

/// How it ended; `None` if it did not in time and was killed.
fn end_of(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = clock::boot_ms().saturating_add(limit.as_millis() as u64);
    // Not reaped yet, so its number is its own.
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

/// A file in memory, not a pipe: nobody has to stay and write what the program may never read.
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
    fn it_reads_the_event_and_its_code_counts() {
        assert!(shell("test \"$(cat)\" = event", b"event", LONG).is_ok());
        let error = shell("exit 3", b"", LONG).expect_err("it fails");
        assert_eq!(error.to_string(), "sh failed (exit status: 3)");
        // One that reads nothing of a large event has rung all the same.
        assert!(shell("true", &[b'x'; 1 << 20], LONG).is_ok());
    }

    #[test]
    fn it_has_so_much_time() {
        let error = shell("exec sleep 100", b"", Duration::from_millis(50));
        assert!(matches!(error, Err(NotRung::TooSlow { .. })), "{error:?}");
    }
}
