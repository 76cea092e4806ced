//! The processes between this machine and a place: the courier here, its transport, and the far end there.
//!
//! ```text
//!  courier ── transport (the first child: `ssh`, `env … sh`) ── far end
//! ```
//! The far ends are looked for on this machine, where the places of the short tests are.

use crate::processes::{KILL, Process};
use crate::waiting::until;
use crate::world::World;
use outlive_sys::{process, tree};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl World {
    /// The couriers that work for this home.
    pub fn couriers(&self) -> Vec<Process> {
        couriers_of(&self.home())
    }

    /// How many clients the couriers of this home serve now. They have a thread for each.
    pub fn clients_of_couriers(&self) -> usize {
        let threads = |pid: i32| fs::read_dir(format!("/proc/{pid}/task"));
        let couriers = self.couriers().into_iter();
        let threads = couriers.filter_map(|it| threads(it.pid).ok()).flatten();
        let names = threads.filter_map(|it| fs::read_to_string(it.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "client").count()
    }

    /// What the couriers of this home have started to reach their places.
    pub fn transports(&self) -> Vec<Process> {
        let couriers = self.couriers().into_iter();
        let children = couriers.flat_map(|it| tree::children(it.pid).unwrap_or_default());
        children.filter_map(Process::find).collect()
    }

    /// The near ends of tunnels of this home, also those whose courier is gone.
    pub fn near_ends(&self) -> Vec<Process> {
        processes_that(|pid| {
            let is_one = process::arguments(pid)
                .iter()
                .any(|word| word == b"place-tunnel");
            is_one && has_variable(pid, "OUTLIVE_HOME", &self.home())
        })
    }

    /// The far ends that serve this test.
    pub fn far_ends(&self) -> Vec<Process> {
        far_ends_at(&self.path_there(""))
    }

    /// Kills every courier of this home with SIGKILL and waits until they are gone.
    #[track_caller]
    pub fn kill_couriers(&self) {
        kill_all(&self.couriers());
    }

    /// Kills every transport of this home with SIGKILL and waits until they are gone.
    #[track_caller]
    pub fn kill_transports(&self) {
        kill_all(&self.transports());
    }

    /// Kills every far end of this test with SIGKILL and waits until they are gone.
    #[track_caller]
    pub fn kill_far_ends(&self) {
        kill_all(&self.far_ends());
    }
}

/// The couriers that work for this home.
pub fn couriers_of(home: &Path) -> Vec<Process> {
    processes_that(|pid| {
        let is_courier = process::arguments(pid)
            .iter()
            .any(|word| word == b"courier");
        is_courier && has_variable(pid, "OUTLIVE_HOME", home)
    })
}

/// The far ends on this machine whose login directory is this one.
pub fn far_ends_at(login: &Path) -> Vec<Process> {
    processes_that(|pid| is_far_end(pid) && has_variable(pid, "HOME", login))
}

/// Kills these with SIGKILL and waits until they are gone.
#[track_caller]
pub fn kill_all(processes: &[Process]) {
    for process in processes {
        process.signal(KILL);
    }
    until("those that were killed are gone", || {
        !processes.iter().any(|process| process.is_alive())
    });
}

/// The processes of this machine for which this is true.
pub fn processes_that(is_one: impl Fn(i32) -> bool) -> Vec<Process> {
    let mut pids = tree::all().unwrap_or_default();
    pids.retain(|pid| is_one(*pid));
    pids.into_iter().filter_map(Process::find).collect()
}

/// Whether a process runs the program that serves a place. A keeper runs the same program, and has a job.
pub(crate) fn is_far_end(pid: i32) -> bool {
    let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let name = program.file_name().unwrap_or_default().as_bytes();
    let has_job = || process::started_with(pid, "OUTLIVE_JOB_DIR").is_ok_and(|it| it.is_some());
    (name.starts_with(b"far-") || name.starts_with(b"outlive-far")) && !has_job()
}

fn has_variable(pid: i32, name: &str, path: &Path) -> bool {
    let value = process::started_with(pid, name).ok().flatten();
    value.is_some_and(|value| {
        let value = Path::new(OsStr::from_bytes(&value));
        // A path with and without a slash at its end are the same one.
        value.components().eq(path.components())
    })
}
