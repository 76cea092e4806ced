//! Other PID namespaces, which stand in for other machines: pids and sockets of one mean nothing in another.

use crate::environment::behind;
use crate::ran::Ran;
use crate::world::World;
use std::process::Command;

/// What makes `unshare` run a command in a PID namespace of its own, which ends with `unshare`.
pub const PID_NAMESPACE: [&str; 4] = ["--pid", "--fork", "--mount-proc", "--kill-child"];

/// A command, to be run in a PID namespace of its own.
pub fn in_pid_namespace(command: &Command) -> Command {
    behind("unshare", PID_NAMESPACE, command)
}

impl World {
    /// Runs `outlive` on this home from a PID namespace of its own.
    pub fn outlive_elsewhere(&self, args: &[&str]) -> Ran {
        Ran::of(&mut in_pid_namespace(&self.command(args)))
    }

    /// Runs `outlive` on this home from a PID namespace of its own.
    pub fn try_outlive_elsewhere(&self, args: &[&str]) -> Result<Ran, String> {
        Ran::try_of(&mut in_pid_namespace(&self.command(args)))
    }
}
