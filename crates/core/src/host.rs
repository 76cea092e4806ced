//! Decides whether a job runs on the host that asks.
//!
//! Several hosts may see one home: machines that share a disk, or a container that mounts the home of
//! its machine. Process IDs, sockets and locks of one host mean nothing on another. So the journal
//! names the host, and only that host decides whether the job's processes are alive.
//! ```text
//!  same boot, same PID namespace ───────────────────────────────────────► Here
//!  same boot, another PID namespace ────────────────────────────────────► OtherNamespace
//!  another boot, another machine id ────────────────────────────────────► OtherMachine
//!  another boot, a disk that one machine uses ──────────────────────────► Restarted
//!  another boot, a shared disk: same machine id and name ───────────────► Restarted
//!                               not known ──────────────────────────────► OtherMachine
//! ```

use crate::process::BootId;
use crate::state::State;
use serde::{Deserialize, Serialize};

/// A host: one space of process IDs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// What people call it.
    pub name: String,
    /// The machine id of the installation, if it has one. Cloned machines may share one id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    pub pid_namespace: u64,
}

/// The current host, in its current boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    pub boot: BootId,
    pub host: Host,
}

/// Whether several machines can use a disk at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    Own,
    Shared,
}

/// Where a job runs, seen from the current host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRelation {
    Here,
    /// In another PID namespace of this machine and boot.
    OtherNamespace,
    /// It ran on this host before a restart, so none of its processes is left.
    Restarted,
    /// On another machine, or possibly on another machine.
    OtherMachine,
}

impl Here {
    /// Whether the process IDs in a job's journal belong to this host.
    pub fn has_processes_of(&self, state: &State) -> bool {
        // The first release did not record the host.
        let same_namespace = |host: &Host| host.pid_namespace == self.host.pid_namespace;
        state.boot.as_ref() == Some(&self.boot) && state.host.as_ref().is_none_or(same_namespace)
    }

    /// Where a job with this state on this disk runs.
    pub fn judge(&self, state: &State, disk: Disk) -> HostRelation {
        if self.has_processes_of(state) {
            return HostRelation::Here;
        }
        if state.boot.as_ref() == Some(&self.boot) {
            return HostRelation::OtherNamespace;
        }
        let machines = state
            .host
            .as_ref()
            .map(|then| (&then.machine, &self.host.machine));
        let is_same_name = state
            .host
            .as_ref()
            .is_some_and(|then| then.name == self.host.name);
        match (machines, disk) {
            // A machine that shares a directory with a guest sees it as its own disk.
            (Some((Some(then), Some(now))), _) if then != now => HostRelation::OtherMachine,
            (_, Disk::Own) => HostRelation::Restarted,
            (Some((Some(_), Some(_))), Disk::Shared) if is_same_name => HostRelation::Restarted,
            (_, Disk::Shared) => HostRelation::OtherMachine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, machine: Option<&str>, pid_namespace: u64) -> Host {
        Host {
            name: name.to_owned(),
            machine: machine.map(str::to_owned),
            pid_namespace,
        }
    }

    fn job(boot: &str, host: Option<Host>) -> State {
        let mut state = State::default();
        state.boot = Some(BootId(boot.to_owned()));
        state.host = host;
        state
    }

    #[test]
    fn only_the_host_of_a_job_judges_its_processes() {
        let here = Here {
            boot: BootId("now".to_owned()),
            host: host("here", Some("m1"), 1),
        };
        let same = || Some(host("here", Some("m1"), 1));
        let container = || Some(host("box", None, 2));
        let clone = || Some(host("there", Some("m1"), 1));
        let other = || Some(host("there", Some("m2"), 1));
        for (boot, then, disk, expected) in [
            ("now", same(), Disk::Own, HostRelation::Here),
            ("now", same(), Disk::Shared, HostRelation::Here),
            ("now", None, Disk::Own, HostRelation::Here),
            ("now", container(), Disk::Own, HostRelation::OtherNamespace),
            (
                "now",
                container(),
                Disk::Shared,
                HostRelation::OtherNamespace,
            ),
            ("before", same(), Disk::Own, HostRelation::Restarted),
            ("before", None, Disk::Own, HostRelation::Restarted),
            ("before", container(), Disk::Own, HostRelation::Restarted),
            // A guest of this machine that mounts the machine's home.
            ("before", other(), Disk::Own, HostRelation::OtherMachine),
            ("before", same(), Disk::Shared, HostRelation::Restarted),
            // A cloned machine has the same id but another name.
            ("before", clone(), Disk::Shared, HostRelation::OtherMachine),
            ("before", other(), Disk::Shared, HostRelation::OtherMachine),
            (
                "before",
                container(),
                Disk::Shared,
                HostRelation::OtherMachine,
            ),
            ("before", None, Disk::Shared, HostRelation::OtherMachine),
        ] {
            let state = job(boot, then);
            assert_eq!(here.judge(&state, disk), expected, "{state:?} {disk:?}");
        }
    }

    #[test]
    fn a_job_without_a_recorded_boot_is_on_another_host() {
        let here = Here {
            boot: BootId("now".to_owned()),
            host: host("here", None, 1),
        };
        let state = State::default();
        assert!(!here.has_processes_of(&state));
        assert_eq!(here.judge(&state, Disk::Own), HostRelation::Restarted);
    }
}
