//! Other PID namespaces, which stand in for other machines: pids and sockets of one have no meaning in another.

use crate::environment::behind;
use crate::ran::Ran;
use crate::world::World;
use std::process::Command;

/// The arguments with which `unshare` runs a command in a new PID namespace, which ends with `unshare`.
pub const PID_NAMESPACE: [&str; 4] = ["--pid", "--fork", "--mount-proc", "--kill-child"];

/// A command that runs in a new PID namespace.
pub fn in_pid_namespace(command: &Command) -> Command {
    behind("unshare", PID_NAMESPACE, command)
}

impl World {
    /// Runs `outlive` with this home in a new PID namespace.
    pub fn outlive_elsewhere(&self, args: &[&str]) -> Ran {
        Ran::of(&mut in_pid_namespace(&self.command(args)))
    }

    /// Runs `outlive` with this home in a new PID namespace.
    pub fn try_outlive_elsewhere(&self, args: &[&str]) -> Result<Ran, String> {
        Ran::try_of(&mut in_pid_namespace(&self.command(args)))
    }
}
