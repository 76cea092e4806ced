//! Following a launch by single instructions.
//!
//! A virtual machine has no counters for this, and valgrind has no vDSO, which the static programs look
//! for. What the kernel does on their behalf is not seen.

use outlive_sys::trace::{self, Stop, Until};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// What one instruction ends with.
const TRAP: i32 = 5;

/// One of Outlive's own processes that stands still.
pub struct Process<'a> {
    pub pid: i32,
    /// The name of its program.
    pub program: &'a str,
}

/// Tells `each` of every instruction of Outlive's own processes, until nothing of the launch runs any more.
/// The job's own program is let go.
pub fn follow(
    launch: &Command,
    mut each: impl FnMut(&Process<'_>) -> io::Result<()>,
) -> io::Result<()> {
    // A shell that stands still until it is followed, and then becomes the launcher.
    let mut shell = Command::new("sh");
    shell.args(["-c", "read go; exec \"$@\"", "sh"]);
    behind(&mut shell, launch);
    let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut shell = shell.spawn()?;
    let launcher = shell.id() as i32;
    trace::seize(launcher)?;
    if let Some(mut go) = shell.stdin.take() {
        go.write_all(b"\n")?;
    }
    let mut programs: HashMap<i32, String> = HashMap::new();
    while let Some((pid, stop)) = trace::next()? {
        let mut signal = 0;
        match stop {
            Stop::Executed => match program_of(pid)? {
                own if is_own(&own) => {
                    programs.insert(pid, own);
                }
                // The shell, on its way.
                _ if pid == launcher => {}
                _ => {
                    programs.remove(&pid);
                    trace::let_go(pid)?;
                    continue;
                }
            },
            // Told by the new process itself, which may be before its maker is.
            Stop::Began => {
                let program = program_of(pid)?;
                if is_own(&program) {
                    programs.insert(pid, program);
                }
            }
            Stop::Suspended => {
                trace::leave_suspended(pid)?;
                continue;
            }
            Stop::Ended(_) => {
                programs.remove(&pid);
                continue;
            }
            Stop::Signalled(TRAP) => {
                if let Some(program) = programs.get(&pid) {
                    each(&Process { pid, program })?;
                }
            }
            Stop::Signalled(other) => signal = other,
            Stop::Forked { .. } | Stop::Entered(_) | Stop::Left => {}
        }
        let until = match programs.contains_key(&pid) {
            true => Until::Step,
            // The shell is not looked at.
            false => Until::Event,
        };
        trace::go_on(pid, until, signal)?;
    }
    // Its end was told above, with everybody's.
    let _ = shell.wait();
    Ok(())
}

/// Has another program run a command as it would run by itself.
pub fn behind(other: &mut Command, command: &Command) {
    other.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
}

fn is_own(program: &str) -> bool {
    matches!(program, "outlive" | "outlive-keeper")
}

fn program_of(pid: i32) -> io::Result<String> {
    let program = fs::read_link(format!("/proc/{pid}/exe"))?;
    let name = program.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}
