//! The host that this keeper is on.

use outlive_core::host::{Here, Host};
use outlive_core::{BootId, State};
use outlive_sys::offers::host;
use std::io;

/// This host, in its present boot.
fn here() -> io::Result<Here> {
    Ok(Here {
        boot: BootId(host::boot_id()?),
        host: Host {
            name: host::name(),
            machine: host::machine_id(),
            pid_namespace: host::pid_namespace()?,
        },
    })
}

/// Whether the process numbers in a job's journal mean processes of this host.
pub fn has_processes_of(state: &State) -> bool {
    here().is_ok_and(|here| here.has_processes_of(state))
}
