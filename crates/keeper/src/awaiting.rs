//! Whether a process of the job waits for input: learned from what it is blocked in.

use crate::channel::Channel;
use crate::tree::Tree;
use outlive_core::JobDir;
use outlive_core::control::Awaiting;
use outlive_sys::blocked::{self, Target};
use std::io;
use std::os::unix::fs::MetadataExt;

/// `/dev/tty`: whatever terminal the process has.
const OWN_TERMINAL: u64 = 5 << 8;

/// What a process of the tree waits for, if one does and nothing is on its way to it.
pub fn look(
    job: &JobDir,
    channel: &Channel,
    tree: &Tree,
    pending: u64,
) -> io::Result<Option<Awaiting>> {
    if pending > 0 {
        return Ok(None);
    }
    let kind = match channel {
        Channel::None | Channel::Lost => return Ok(None),
        Channel::Pipe(_) => Awaiting::Data,
        Channel::Terminal(terminal) => {
            let mode = terminal.master.mode()?;
            match (mode.lines, mode.echo) {
                (true, true) => Awaiting::Line,
                (true, false) => Awaiting::Password,
                (false, _) => Awaiting::Keys,
            }
        }
    };
    let inode = std::fs::metadata(job.input())
        .map(|metadata| metadata.ino())
        .ok();
    let is_input = |target: Target| match channel {
        Channel::Terminal(terminal) => {
            target.device == terminal.master.device() || target.device == OWN_TERMINAL
        }
        Channel::Pipe(_) => Some(target.inode) == inode,
        Channel::None | Channel::Lost => false,
    };
    let waits = |pid: i32| {
        let mut targets = blocked::reads(pid)
            .into_iter()
            .filter_map(|fd| blocked::target(pid, fd));
        targets.any(is_input)
    };
    let members = tree.members()?;
    Ok(members
        .iter()
        .any(|member| waits(member.process.pid))
        .then_some(kind))
}
