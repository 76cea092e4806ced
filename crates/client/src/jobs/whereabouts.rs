//! Finds out where a job runs, seen from this host.
//!
//! Everything that deals with a job asks here first. A job on another host is left alone: nobody
//! recovers it, connects to its socket or checks its process IDs, which mean other processes here.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::host::{Disk, Here, Host, HostRelation};
use outlive_core::{BootId, BootTime, Input, JobDir, Spec, State, WallTime, layout, quote};
use outlive_sys::offers::host;
use outlive_sys::{capture, lock};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    Here,
    /// It ran here, and nothing of it can be running any more.
    Gone(GoneReason),
    Elsewhere(Elsewhere),
}

/// Why nothing of a job can be running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoneReason {
    Restarted,
    /// Its keepers are gone and no process has its output open. It ran in another PID namespace of this
    /// machine, and that namespace ends with its container.
    NamespaceEnded,
}

/// The host that keeps a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub host: String,
    pub reason: String,
}

/// The current host. It does not change while a process runs.
pub fn here() -> Result<&'static Here, Error> {
    static HERE: OnceLock<Here> = OnceLock::new();
    if let Some(here) = HERE.get() {
        return Ok(here);
    }
    let boot = host::boot_id().map_err(Error::io("cannot read", "/proc/sys/kernel/random/boot_id"));
    let namespace = host::pid_namespace().map_err(Error::io("cannot read", "/proc/self/ns/pid"));
    let here = Here {
        boot: BootId(boot?),
        host: Host {
            name: host::name(),
            machine: host::machine_id(),
            pid_namespace: namespace?,
        },
    };
    Ok(HERE.get_or_init(|| here))
}

/// Finds out where a job runs that is not over.
pub fn find(outlive: &Outlive, job: &JobDir, state: &State) -> Result<Whereabouts, Error> {
    let here = here()?;
    if here.has_processes_of(state) {
        return Ok(Whereabouts::Here);
    }
    Ok(match here.judge(state, disk(outlive)) {
        HostRelation::Here => Whereabouts::Here,
        HostRelation::Restarted => Whereabouts::Gone(GoneReason::Restarted),
        HostRelation::OtherNamespace if has_ended_with_namespace(outlive, job) => {
            Whereabouts::Gone(GoneReason::NamespaceEnded)
        }
        HostRelation::OtherNamespace => {
            elsewhere(state, ", in another PID namespace of this machine")
        }
        HostRelation::OtherMachine => elsewhere(state, ""),
    })
}

fn elsewhere(state: &State, more: &str) -> Whereabouts {
    let host = state
        .host
        .as_ref()
        .map_or("another host", |host| &host.name);
    Whereabouts::Elsewhere(Elsewhere {
        host: host.to_owned(),
        // A job can write to its own journal, which names the host.
        reason: format!("kept on {}{more}", quote::word(host, quote::MAX_WORD)),
    })
}

/// If the disk's type is unknown, treat it as shared.
fn disk(outlive: &Outlive) -> Disk {
    match host::is_shared(outlive.home().root()) {
        Ok(false) => Disk::Own,
        Ok(true) | Err(_) => Disk::Shared,
    }
}

/// Whether the journal was last written before this machine started. Uses the wall clock, which is good
/// enough for a message when nothing else tells.
pub fn is_from_before_boot(outlive: &Outlive, job: &JobDir) -> bool {
    let started = clock::wall() - clock::boot().since(BootTime::default());
    let written = fs::symlink_metadata(job.journal()).map(|found| found.mtime());
    let written =
        written.map(|seconds| WallTime::from_ms(u64::try_from(seconds).unwrap_or(0) * 1000));
    disk(outlive) == Disk::Own && written.is_ok_and(|written| written < started)
}

/// Whether a job in another PID namespace is over. Locks and FIFOs work across all namespaces of a
/// machine. A free lock means that both keepers are gone. A FIFO that nobody has open means that no
/// process has inherited the output. A job on a terminal has the terminal open instead of the FIFO, so
/// this test cannot be used for it. An adopted job never had the FIFO open.
fn has_ended_with_namespace(outlive: &Outlive, job: &JobDir) -> bool {
    let is_locked = layout::open(&job.lock()).and_then(|file| lock::is_taken(&file));
    let spec = job.read_spec();
    let is_elsewhere = |spec: &Spec| matches!(spec.input, Input::Pty(_)) || spec.adopted.is_some();
    disk(outlive) == Disk::Own
        && matches!(is_locked, Ok(false))
        && spec.is_ok_and(|spec| !is_elsewhere(&spec))
        && matches!(capture::is_open(&job.feed()), Ok(false))
}
