//! Keeping the machine awake while the job is supervised.
//!
//! A helper (`systemd-inhibit … cat`) does this until its input ends, which happens when both keepers are gone. The
//! helper is not part of the job, and its mark says so.

use crate::errands::errand;
use outlive_core::{JobDir, Spec};
use std::process::{ChildStdin, Command, Stdio};

/// The machine is kept awake as long as this is open, here or in a forked process.
#[derive(Debug)]
pub struct KeepAwake {
    _input: ChildStdin,
}

impl KeepAwake {
    /// Starts the helper that the spec names. If it cannot be started, the job runs without it.
    pub fn begin(job: &JobDir, spec: &Spec) -> Option<KeepAwake> {
        let (program, arguments) = spec.keep_awake.split_first()?;
        let mut command = Command::new(program.as_os_str());
        command
            .args(arguments.iter().map(|argument| argument.as_os_str()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = errand::send(job, &mut command).ok()?;
        child.stdin.map(|input| KeepAwake { _input: input })
    }
}
