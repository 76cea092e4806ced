//! A shell with another home on this machine.

use super::{far_home, shared};
use crate::place::{Local, Place, processes_below};
use crate::processes::Process;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cmd:env -i HOME=… sh`: nothing of this side's environment is there, and its home is another one.
#[derive(Clone, Debug, Default)]
pub struct CmdSh {
    /// Words before `env`, such as a program that changes what the place is like.
    before: String,
    /// More variables there, as `NAME=VALUE`.
    variables: String,
}

impl CmdSh {
    /// The same behind another program, such as `unshare --net`.
    pub fn behind(words: &str) -> CmdSh {
        CmdSh {
            before: format!("{words} "),
            variables: String::new(),
        }
    }

    /// The same with more variables there.
    pub fn with(variables: &[&str]) -> CmdSh {
        CmdSh {
            before: String::new(),
            variables: variables.iter().map(|it| format!("{it} ")).collect(),
        }
    }

    /// The address for a test with this directory there.
    pub fn address(&self, scratch: &Path) -> String {
        format!(
            "cmd:{}env -i PATH=/usr/local/bin:/usr/bin:/bin HOME={} XDG_CACHE_HOME={} {}sh",
            self.before,
            scratch.display(),
            shared().display(),
            self.variables
        )
    }
}

impl Place for CmdSh {
    fn name(&self) -> &str {
        "cmd:sh"
    }

    fn direct(&self, command: &mut Command, scratch: &Path) {
        command.env("OUTLIVE_PLACE", self.address(scratch));
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let there = here.join("there");
        fs::create_dir(&there)?;
        Ok(there)
    }

    /// Nothing to do: it is in the test's own directory, which is removed with the test.
    fn remove_scratch(&self, _: &Path) {}

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Local.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Local.write(path, bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        Local.process(pid)
    }

    fn signal(&self, process: Process, signal: i32) {
        Local.signal(process, signal);
    }

    fn processes(&self, scratch: &Path) -> Vec<Process> {
        processes_below(&far_home(scratch))
    }
}
