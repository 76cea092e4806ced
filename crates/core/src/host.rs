//! Which host a job runs on, as seen from the host of whoever asks.
//!
//! A home may be seen from several hosts: machines that share a disk, a container that has the home of its
//! machine mounted. Process numbers, sockets and locks of one host say nothing on another. So the journal names
//! the host, and nobody else judges whether the job's processes live.
//!
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

/// A host: what has its own process numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// What people call it.
    pub name: String,
    /// The id of its installation, where it has one. Machines that were cloned may have the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    pub pid_namespace: u64,
}

/// The host of this process, in its present boot.
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

/// Where a job is, seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Here,
    /// In another PID namespace of this machine and boot.
    OtherNamespace,
    /// It was here before a restart, so nothing of it runs any more.
    Restarted,
    /// On another machine, or it cannot be told whether it is.
    OtherMachine,
}

impl Here {
    /// Whether the process numbers in a job's journal mean processes of this host.
    pub fn has_processes_of(&self, state: &State) -> bool {
        // The first release did not note the host.
        let same_namespace = |host: &Host| host.pid_namespace == self.host.pid_namespace;
        state.boot.as_ref() == Some(&self.boot) && state.host.as_ref().is_none_or(same_namespace)
    }

    /// Where a job is that has this state and lies on this disk.
    pub fn judge(&self, state: &State, disk: Disk) -> Standing {
        if self.has_processes_of(state) {
            return Standing::Here;
        }
        if state.boot.as_ref() == Some(&self.boot) {
            return Standing::OtherNamespace;
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
            // The machine that lends a directory to a guest sees it as a disk of its own.
            (Some((Some(then), Some(now))), _) if then != now => Standing::OtherMachine,
            (_, Disk::Own) => Standing::Restarted,
            (Some((Some(_), Some(_))), Disk::Shared) if is_same_name => Standing::Restarted,
            (_, Disk::Shared) => Standing::OtherMachine,
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
    fn a_job_is_judged_by_its_own_host_only() {
        let here = Here {
            boot: BootId("now".to_owned()),
            host: host("here", Some("m1"), 1),
        };
        let same = || Some(host("here", Some("m1"), 1));
        let container = || Some(host("box", None, 2));
        let clone = || Some(host("there", Some("m1"), 1));
        let other = || Some(host("there", Some("m2"), 1));
        for (boot, then, disk, expected) in [
            ("now", same(), Disk::Own, Standing::Here),
            ("now", same(), Disk::Shared, Standing::Here),
            ("now", None, Disk::Own, Standing::Here),
            ("now", container(), Disk::Own, Standing::OtherNamespace),
            ("now", container(), Disk::Shared, Standing::OtherNamespace),
            ("before", same(), Disk::Own, Standing::Restarted),
            ("before", None, Disk::Own, Standing::Restarted),
            ("before", container(), Disk::Own, Standing::Restarted),
            // A guest of this machine, to which the home is lent.
            ("before", other(), Disk::Own, Standing::OtherMachine),
            ("before", same(), Disk::Shared, Standing::Restarted),
            // A clone has the same id; its name differs.
            ("before", clone(), Disk::Shared, Standing::OtherMachine),
            ("before", other(), Disk::Shared, Standing::OtherMachine),
            ("before", container(), Disk::Shared, Standing::OtherMachine),
            ("before", None, Disk::Shared, Standing::OtherMachine),
        ] {
            let state = job(boot, then);
            assert_eq!(here.judge(&state, disk), expected, "{state:?} {disk:?}");
        }
    }

    #[test]
    fn a_job_of_no_boot_is_of_none() {
        let here = Here {
            boot: BootId("now".to_owned()),
            host: host("here", None, 1),
        };
        let state = State::default();
        assert!(!here.has_processes_of(&state));
        assert_eq!(here.judge(&state, Disk::Own), Standing::Restarted);
    }
}
