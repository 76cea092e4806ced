//! How many instructions a program takes: it is let go on by one at a time, and they are counted.
//!
//! A virtual machine has no counters for this, and valgrind has no vDSO, which the static programs look
//! for. What the kernel does on their behalf is not counted.

use outlive_sys::trace::{self, Stop, Until};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// What one instruction ends with.
const TRAP: i32 = 5;

/// Instructions of the launcher, and of the pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    pub run: u64,
    pub pair: u64,
}

/// Counts those of this launch, until nothing of it runs any more. The job's own program is let go.
pub fn count(launch: &Command) -> Steps {
    // A shell that stands still until it is followed, and then becomes the launcher.
    let mut shell = Command::new("sh");
    shell.args(["-c", "read go; exec \"$@\"", "sh"]);
    super::behind(&mut shell, launch);
    let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut shell = shell.spawn().unwrap();
    let launcher = shell.id() as i32;
    trace::seize(launcher).unwrap();
    shell.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut steps = Steps::default();
    // The shell is not counted.
    let mut until = Until::Event;
    while let Some((pid, stop)) = trace::next().unwrap() {
        match stop {
            Stop::Executed => match program_of(pid).as_str() {
                "outlive" | "outlive-keeper" => {
                    until = Until::Step;
                    trace::go_on(pid, until, 0).unwrap();
                }
                _ if pid == launcher => trace::go_on(pid, until, 0).unwrap(),
                _ => trace::let_go(pid).unwrap(),
            },
            Stop::Signalled(TRAP) => {
                match pid == launcher {
                    true => steps.run += 1,
                    false => steps.pair += 1,
                }
                trace::go_on(pid, until, 0).unwrap();
            }
            Stop::Signalled(signal) => trace::go_on(pid, until, signal).unwrap(),
            Stop::Suspended => trace::leave_suspended(pid).unwrap(),
            Stop::Ended(_) => {}
            Stop::Began | Stop::Forked { .. } | Stop::Entered(_) | Stop::Left => {
                trace::go_on(pid, until, 0).unwrap();
            }
        }
    }
    // Its end was told above, with everybody's.
    let _ = shell.wait();
    assert!(
        steps.run > 0 && steps.pair > 0,
        "not both were seen: {steps:?}"
    );
    steps
}

fn program_of(pid: i32) -> String {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    program.file_name().unwrap().to_string_lossy().into_owned()
}
