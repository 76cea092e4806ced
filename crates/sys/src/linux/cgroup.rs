//! Control groups: where this process is, and where it may make a group below or beside its own.
//!
//! Version 1 has one hierarchy for each controller, and a group with processes may have groups below it. Version 2 has
//! one hierarchy for all, and a group with processes can have no limited groups below it. So there the new group may
//! have to be beside that of this process, further up. But no process ever leaves a group that limits it.

use crate::linux::own::check;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The directories of the groups that a process is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// In the hierarchy of version 2.
    pub unified: Option<Place>,
    /// In the hierarchies of version 1, with their controllers.
    pub separate: Vec<(Vec<String>, PathBuf)>,
}

/// A group of version 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the hierarchy is mounted.
    pub mount: PathBuf,
    pub directory: PathBuf,
}

impl Membership {
    /// The groups of this process.
    pub fn own() -> io::Result<Membership> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        Ok(membership(&groups, &mounts))
    }

    /// The group of version 1 in the hierarchy of this controller.
    pub fn separate(&self, controller: &str) -> Option<&Path> {
        let has = |(controllers, _): &&(Vec<String>, PathBuf)| {
            controllers.iter().any(|name| name == controller)
        };
        self.separate
            .iter()
            .find(has)
            .map(|(_, directory)| directory.as_path())
    }
}

fn membership(groups: &str, mounts: &str) -> Membership {
    let mut found = Membership::default();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let mount = mounts.lines().filter_map(Mount::parse).find(|mount| {
            mount.is_of(controllers) && Path::new(path).strip_prefix(mount.root).is_ok()
        });
        let Some(mount) = mount else { continue };
        let inside = Path::new(path)
            .strip_prefix(mount.root)
            .unwrap_or(Path::new(""));
        let directory = Path::new(mount.point).join(inside);
        match controllers {
            "" => {
                found.unified = Some(Place {
                    mount: mount.point.into(),
                    directory,
                });
            }
            names => {
                let names = names.split(',').map(str::to_owned).collect();
                found.separate.push((names, directory));
            }
        }
    }
    found
}

/// A line of `/proc/self/mountinfo`.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let mut after = after.split(' ');
        Some(Mount {
            root: before.next()?,
            point: before.next()?,
            kind: after.next()?,
            options: after.nth(1)?,
        })
    }

    /// Whether this is the hierarchy with these controllers, as `/proc/<pid>/cgroup` names them.
    fn is_of(&self, controllers: &str) -> bool {
        match controllers {
            "" => self.kind == "cgroup2",
            names => {
                let mut has = self.options.split(',');
                self.kind == "cgroup"
                    && names.split(',').all(|name| has.clone().any(|o| o == name))
                    && has.next().is_some()
            }
        }
    }
}

/// Whether this process may make groups in this one.
pub fn is_writable(directory: &Path) -> bool {
    let may = |path: &Path| {
        rustix::fs::access(
            path,
            rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXISTS,
        )
        .is_ok()
    };
    may(directory) && may(&directory.join("cgroup.procs"))
}

impl Place {
    /// The closest group, from that of this process upwards, in which a group with these controllers can be made.
    pub fn parent_for(&self, controllers: &[&str]) -> Option<PathBuf> {
        self.find(|group| offers(group, controllers) || turn_on(group, controllers))
    }

    /// Whether there seems to be such a group. Changes nothing.
    pub fn may_have_parent_for(&self, controllers: &[&str]) -> bool {
        let found = self.find(|group| {
            let available = fs::read_to_string(group.join("cgroup.controllers"));
            let all = available.is_ok_and(|text| has_all(&text, controllers));
            offers(group, controllers) || all && may_turn_on(group)
        });
        found.is_some()
    }

    fn find(&self, suits: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let mut candidate = self.directory.as_path();
        loop {
            if is_writable(candidate) && suits(candidate) {
                return Some(candidate.to_owned());
            }
            if candidate == self.mount || is_limited(candidate) {
                return None;
            }
            candidate = candidate.parent()?;
        }
    }
}

/// What says which controllers the groups below this one have.
const BELOW: &str = "cgroup.subtree_control";

/// Whether groups made here have these controllers.
fn offers(group: &Path, controllers: &[&str]) -> bool {
    let on = fs::read_to_string(group.join(BELOW));
    on.is_ok_and(|text| has_all(&text, controllers))
}

fn has_all(text: &str, controllers: &[&str]) -> bool {
    let has = |name: &&str| text.split_ascii_whitespace().any(|on| on == *name);
    controllers.iter().all(has)
}

/// Turns these controllers on for the groups below this one. The kernel refuses it if the group has processes.
fn turn_on(group: &Path, controllers: &[&str]) -> bool {
    let on: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
    may_turn_on(group) && fs::write(group.join(BELOW), on.join(" ")).is_ok()
}

/// Only where that concerns nobody else: in a scope that was made for a job, and in the root.
fn may_turn_on(group: &Path) -> bool {
    is_own_scope(group) || !group.join("cgroup.type").exists()
}

/// Whether a group is a scope that systemd made for a job of ours.
fn is_own_scope(group: &Path) -> bool {
    let name = group.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("outlive-") && name.ends_with(".scope"))
}

/// Whether a group of version 2 limits its processes.
fn is_limited(group: &Path) -> bool {
    ["memory.max", "memory.high", "cpu.max", "pids.max"]
        .iter()
        .filter_map(|file| fs::read_to_string(group.join(file)).ok())
        .any(|limit| !limit.starts_with("max"))
}

/// If this process is alone in a scope that systemd made for a job, moves it to a group of its own below, so that the
/// job can get another one there.
pub fn settle_in_scope() -> io::Result<()> {
    let Some(Place { directory, .. }) = Membership::own()?.unified else {
        return Ok(());
    };
    match is_own_scope(&directory) && is_writable(&directory) {
        true => {
            make(&directory.join(KEEPERS))?;
            enter_keepers(&directory)
        }
        false => Ok(()),
    }
}

/// The group below a scope for the processes that keep its job.
const KEEPERS: &str = "keepers";

/// Moves this process to the keepers in a scope that systemd made for a job. Fails if there are none.
pub fn enter_keepers(scope: &Path) -> io::Result<()> {
    enter(&scope.join(KEEPERS), 0)
}

/// Makes a group. It may exist.
pub fn make(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Moves a process into a group. 0 is this process. Does nothing for a process that has ended.
pub fn enter(directory: &Path, pid: i32) -> io::Result<()> {
    unless_ended(fs::write(directory.join("cgroup.procs"), pid.to_string()))
}

fn unless_ended(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}

/// Becomes readable for good when a group of version 1 that it listens to runs out of memory, or is removed. Processes
/// that are forked share it, and what it has heard.
#[derive(Debug)]
pub struct OomBell(OwnedFd);

impl OomBell {
    pub fn new() -> io::Result<OomBell> {
        // SAFETY: no memory is passed.
        let made = check(i64::from(unsafe {
            libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)
        }))?;
        // SAFETY: the call has just made this descriptor, and nobody else owns it.
        Ok(OomBell(unsafe { OwnedFd::from_raw_fd(made as i32) }))
    }

    /// Forgets that it has rung.
    pub fn silence(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    /// The kernel rings it a moment before it kills a process and counts that.
    pub fn listen_to(&self, directory: &Path) -> io::Result<()> {
        let control = fs::File::open(directory.join("memory.oom_control"))?;
        let line = format!("{} {}", self.0.as_raw_fd(), control.as_raw_fd());
        fs::write(directory.join("cgroup.event_control"), line)
    }
}

impl std::os::fd::AsFd for OomBell {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets the nice value of a process. Does nothing for a process that has ended.
pub fn set_nice(pid: i32, nice: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let set = check(i64::from(unsafe {
        libc::setpriority(libc::PRIO_PROCESS as _, pid as libc::id_t, nice)
    }));
    unless_ended(set.map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_process_are_found_below_their_mounts() {
        let mounts = "\
30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 25 0:27 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory
32 25 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 25 0:29 /other /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
";
        let groups = "4:memory:/a/b\n3:cpu,cpuacct:/docker/abc/c\n2:pids:/docker/abc\n0::/x\n";
        let found = membership(groups, mounts);
        assert_eq!(
            found.separate("memory"),
            Some(Path::new("/sys/fs/cgroup/memory/a/b"))
        );
        assert_eq!(
            found.separate("cpu"),
            Some(Path::new("/sys/fs/cgroup/cpu,cpuacct/c"))
        );
        // What is mounted does not contain this group.
        assert_eq!(found.separate("pids"), None);
        let unified = found.unified.map(|place| place.directory);
        assert_eq!(unified, Some("/sys/fs/cgroup/unified/x".into()));
    }

    #[test]
    fn no_group_that_limits_is_left() -> io::Result<()> {
        let name = format!("outlive-cgroup-test-{}", crate::linux::own::pid());
        let mount = std::env::temp_dir().join(name);
        let inner = mount.join("a/b");
        fs::create_dir_all(&inner)?;
        for group in [&mount, &mount.join("a"), &inner] {
            fs::write(group.join("cgroup.procs"), "")?;
            fs::write(group.join("cgroup.type"), "domain")?;
            fs::write(group.join("cgroup.subtree_control"), "")?;
        }
        fs::write(mount.join("cgroup.subtree_control"), "cpu memory pids")?;
        let place = Place {
            mount: mount.clone(),
            directory: inner.clone(),
        };
        let free = place.parent_for(&["memory"]);
        let without = place.parent_for(&["io"]);
        fs::write(mount.join("a/memory.max"), "1000")?;
        let limited = place.parent_for(&["memory"]);
        fs::remove_dir_all(&mount)?;
        assert_eq!((free, without, limited), (Some(mount), None, None));
        Ok(())
    }
}
