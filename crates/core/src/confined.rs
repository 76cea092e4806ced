//! The control groups that enforce the limits of a job.
//!
//! A keeper decides where they are, journals that, and only then makes them. So whoever closes the job knows what to
//! remove, whenever the keepers were killed. The groups are made for this job alone, so their counters begin at zero
//! and count nothing else.

mod counters;

use crate::id::JobId;
use crate::layout::Home;
pub use outlive_api::limits::EnforcedBy;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How the limits of a job are enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    pub by: EnforcedBy,
    /// Empty if no group can be made here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What the groups had counted before the attempt that runs: they are those of all attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kills_before: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A control group of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub directory: PathBuf,
    pub controls: Controls,
}

/// What a control group limits and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Controls {
    /// Everything: version 2.
    All,
    /// Version 1 has one hierarchy for each.
    Memory,
    Cpu,
    Pids,
}

/// What the names of these groups begin with.
pub const PREFIX: &str = "outlive-";

/// A process that has just ended may still be in its group for a moment.
const PAUSE: Duration = Duration::from_millis(1);
const TRIES: usize = 50;

impl Confined {
    /// The group that counts memory.
    pub fn memory(&self) -> Option<&Group> {
        let counts = |group: &&Group| matches!(group.controls, Controls::All | Controls::Memory);
        self.groups.iter().find(counts)
    }

    /// Removes the groups. A group stays as long as it has processes: those of a job that was started inside this one,
    /// and that job's keepers. Whoever prunes one of the two jobs then removes it.
    pub fn remove(&self, home: &Home, id: &JobId) {
        for group in &self.groups {
            // The job can write its journal, so only a directory that is named after it is removed.
            if is_named_after(&group.directory, id) && remove(&group.directory).is_ok() {
                remove_abandoned(home, group.directory.parent());
            }
        }
    }

    fn has(&self, directory: &Path) -> bool {
        self.groups.iter().any(|group| group.directory == directory)
    }
}

fn is_named_after(directory: &Path, id: &JobId) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix(PREFIX))
        .is_some_and(|name| name.strip_prefix(id.as_str()).is_some())
}

fn remove(directory: &Path) -> io::Result<()> {
    for _ in 0..TRIES {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && is_empty(directory) => {
                thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Whether no process is in the group, and no group below it.
fn is_empty(directory: &Path) -> bool {
    let processes = fs::read_to_string(directory.join("cgroup.procs"));
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_group = |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    processes.is_ok_and(|list| list.is_empty()) && !entries.any(is_group)
}

/// Removes the groups of outer jobs that were closed and perhaps pruned while this job was still inside. The kernel
/// refuses that for a group with processes. A job that waits for its next attempt has none in its group, and needs it.
fn remove_abandoned(home: &Home, mut directory: Option<&Path>) {
    while let Some(outer) = directory {
        let name = outer.file_name().and_then(|name| name.to_str());
        let job = name.filter(|name| !name.ends_with(".scope"));
        let Some(job) = job.and_then(|name| name.strip_prefix(PREFIX)) else {
            return;
        };
        if is_of_live_job(home, job, outer) || fs::remove_dir(outer).is_err() {
            return;
        }
        directory = outer.parent();
    }
}

/// Whether a job that is not over has this group. `name` is `<id>-<incarnation>`.
fn is_of_live_job(home: &Home, name: &str, group: &Path) -> bool {
    let id = name
        .rsplit_once('-')
        .and_then(|(id, _)| JobId::parse(id).ok());
    let Some(id) = id.filter(|id| home.live_link(id).symlink_metadata().is_ok()) else {
        return false;
    };
    let journal = home.job(&id).read_journal();
    journal.is_ok_and(|journal| {
        let confined = journal.state.confined.as_ref();
        !journal.state.is_final() && confined.is_some_and(|confined| confined.has(group))
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_are_named_after_the_job_are_removed() {
        let world = tempfile::tempdir().unwrap();
        let id = JobId::parse("web").unwrap();
        let make = |name: &str| {
            let directory = world.path().join(name);
            fs::create_dir(&directory).unwrap();
            directory
        };
        let (own, other) = (make("outlive-web-1a2b"), make("outlive-db-1a2b"));
        let group = |directory: &Path| Group {
            directory: directory.to_owned(),
            controls: Controls::All,
        };
        let confined = Confined {
            by: EnforcedBy::CgroupV2,
            groups: vec![group(&other), group(&own)],
            kills_before: 0,
        };
        let home = Home::at(world.path().join("home"));
        confined.remove(&home, &id);
        assert!(other.is_dir() && !own.exists());
        // Repeating it does no harm.
        confined.remove(&home, &id);
    }
}
