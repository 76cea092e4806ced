//! Whether a process of the job waits for input. The kernel says what each process is blocked in.

use crate::input::channel::Channel;
use crate::tree::members::Tree;
use outlive_core::control::InputKind;
use outlive_sys::process::{self, ReadTarget};
use std::io;
use std::os::unix::fs::MetadataExt;

/// `/dev/tty`: whatever terminal the process has.
const OWN_TERMINAL: u64 = 5 << 8;

/// The input that a process of the tree waits for, if one waits and no accepted bytes are still on the way to it.
pub fn look(channel: &Channel, tree: &Tree, pending: u64) -> io::Result<Option<InputKind>> {
    if pending > 0 {
        return Ok(None);
    }
    let kind = match channel {
        Channel::None | Channel::Lost(_) => return Ok(None),
        Channel::Pipe(_) => InputKind::Data,
        // This comes first: the test makes the terminal hand over what was typed a moment ago.
        Channel::Terminal(terminal) if terminal.master.has_input_waiting()? => return Ok(None),
        Channel::Terminal(terminal) => {
            let mode = terminal.master.mode()?;
            match (mode.lines, mode.echo) {
                (true, true) => InputKind::Line,
                (true, false) => InputKind::Password,
                (false, _) => InputKind::Keys,
            }
        }
    };
    let waits = |pid: i32| {
        let mut targets = process::pending_reads(pid)
            .into_iter()
            .filter_map(|fd| process::read_target(pid, fd));
        targets.any(|target| is_input(channel, pid, target))
    };
    let members = tree.members()?;
    Ok(members
        .iter()
        .any(|member| waits(member.process.pid))
        .then_some(kind))
}

/// Whether the file that a process reads from is the job's own input.
fn is_input(channel: &Channel, pid: i32, target: ReadTarget) -> bool {
    match channel {
        Channel::Terminal(terminal) => {
            let device = terminal.master.device();
            let own = || process::stat(pid).is_some_and(|stat| stat.terminal == device);
            target.device == device || target.device == OWN_TERMINAL && own()
        }
        Channel::Pipe(_) => channel
            .pipe()
            .and_then(|pipe| pipe.metadata().ok())
            .is_some_and(|pipe| (target.filesystem, target.inode) == (pipe.dev(), pipe.ino())),
        Channel::None | Channel::Lost(_) => false,
    }
}
