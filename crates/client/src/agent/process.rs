//! Finds the process of the agent that started this process, and tells whether an agent still lives.

use crate::error::Error;
use crate::jobs::whereabouts;
use outlive_core::told::AgentProcess;
use outlive_core::{BootId, ProcRef};
use outlive_sys::process::{self, own};

/// Agents start a hook or a server through at most two shells. This is far more, and ends a walk through
/// processes that change meanwhile.
const MAX_SHELLS: usize = 16;
/// The shells that agents start commands with.
const SHELLS: [&[u8]; 8] = [
    b"sh", b"bash", b"dash", b"zsh", b"fish", b"ksh", b"ash", b"busybox",
];

/// The agent that started this process: the closest ancestor that is not a shell which runs one command.
/// `None` if there is none, because the agent has ended.
pub fn of_caller() -> Result<Option<AgentProcess>, Error> {
    let Some(mut pid) = own::parent_pid() else {
        return Ok(None);
    };
    for _ in 0..MAX_SHELLS {
        let Some(stat) = process::stat(pid) else {
            return Ok(None);
        };
        if !runs_one_command(pid) {
            let started = stat.started;
            return Ok(Some(AgentProcess {
                process: ProcRef { pid, started },
                pid_namespace: whereabouts::here()?.host.pid_namespace,
            }));
        }
        pid = stat.parent;
    }
    Ok(None)
}

/// Whether a process is a shell that was started with `-c`.
fn runs_one_command(pid: i32) -> bool {
    let arguments = process::arguments(pid);
    let mut arguments = arguments.iter().map(Vec::as_slice);
    let program = arguments.next().unwrap_or_default();
    let name = program.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default();
    let is_shell = SHELLS.contains(&name.strip_prefix(b"-").unwrap_or(name));
    let is_command = |option: &[u8]| {
        option.starts_with(b"-") && !option.starts_with(b"--") && option.contains(&b'c')
    };
    is_shell && arguments.any(is_command)
}

/// Whether an agent's process, of this boot, has ended. A process that this one cannot see belongs to a
/// container that has ended, or to another machine: what it was handed is told again then.
pub fn is_gone(agent: &AgentProcess, boot: &BootId) -> bool {
    let Ok(here) = whereabouts::here() else {
        return false;
    };
    let is_here = *boot == here.boot && agent.pid_namespace == here.host.pid_namespace;
    let ProcRef { pid, started } = agent.process;
    let lives =
        || process::stat(pid).is_some_and(|stat| stat.started == started && !stat.is_zombie());
    !is_here || !lives()
}

/// Whether an agent of this host runs and is not about to end.
pub fn is_well(agent: &AgentProcess) -> bool {
    let ProcRef { pid, started } = agent.process;
    let stat = process::stat(pid).filter(|stat| stat.started == started);
    stat.is_some_and(|stat| !stat.is_zombie() && !stat.is_exiting())
}
