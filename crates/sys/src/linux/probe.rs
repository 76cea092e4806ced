//! What this machine supports. Each answer is found by trying.

use crate::linux::child::fork_to_exit;
use crate::linux::file::Rewrites;
use crate::linux::lock::{self, LockResult};
use crate::linux::own::check;
use crate::linux::pidfd::{self, PidFd, Status, wait_for_child};
use crate::linux::pipe::{self, Moved};
use crate::linux::socket::{Listener, Stream};
use crate::linux::{file, limits, poll};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

/// The name and version of the kernel.
pub fn kernel() -> String {
    let release = rustix::system::uname();
    release.release().to_string_lossy().into_owned()
}

/// Whether the exit status of a process can be learned by one that is not its parent.
pub fn exit_records() -> io::Result<bool> {
    const CODE: i32 = 7;
    let pid = fork_to_exit(CODE)?;
    let pidfd = PidFd::open(pid);
    wait_for_child(pid)?;
    let Ok(Some(pidfd)) = pidfd else {
        return Ok(false);
    };
    Ok(pidfd.exit_record() == Some(Status::Exited { code: CODE }))
}

/// Tries the system calls without which a job could be started and then not be supervised. Fails with the name of the
/// first that is refused, by an older kernel or a filter, and the error. Other calls are made before a job's program
/// is executed, and fail the start themselves. Also finds out how processes are addressed here.
pub fn required_calls() -> Result<(), (&'static str, io::Error)> {
    pidfd::addressing().map_err(|error| ("pidfd_open", error))?;
    pidfd::try_waiting().map_err(|error| ("waitid", error))?;
    poll::wait(&[], Some(Duration::ZERO)).map_err(|error| ("ppoll", error))?;
    // Each call is made without a valid descriptor. A kernel that knows the call says that the descriptor is bad.
    const WITHOUT_DESCRIPTOR: [(&str, i64); 7] = [
        ("splice", libc::SYS_splice),
        ("accept4", libc::SYS_accept4),
        ("connect", libc::SYS_connect),
        ("getsockopt", libc::SYS_getsockopt),
        ("setsockopt", libc::SYS_setsockopt),
        ("sendto", libc::SYS_sendto),
        ("recvfrom", libc::SYS_recvfrom),
    ];
    for (call, number) in WITHOUT_DESCRIPTOR {
        try_without_descriptor(number).map_err(|error| (call, error))?;
    }
    Ok(())
}

/// Makes a system call whose first argument is a descriptor, with an invalid one.
pub(crate) fn try_without_descriptor(number: i64) -> io::Result<()> {
    // A descriptor that is none, a null pointer, and for splice the other descriptor, in that order.
    // SAFETY: without a descriptor the kernel does nothing, and neither reads nor writes memory of ours.
    match check(unsafe { libc::syscall(number, -1, 0, -1, 0, 1, 0) }) {
        // An interrupted call is not a refused one.
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EBADF | libc::EINTR)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Whether a directory can be renamed here without replacing another, in one step.
pub fn rename_new(directory: &Path) -> io::Result<bool> {
    let (from, to) = (directory.join("probe-from"), directory.join("probe-to"));
    fs::create_dir_all(from.join("inside"))?;
    fs::create_dir_all(to.join("inside"))?;
    let refused = file::rename_new(&from, &to);
    let is_refused = refused.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
    fs::remove_dir_all(&to)?;
    file::rename_new(&from, &to)?;
    fs::remove_dir_all(&to)?;
    Ok(is_refused)
}

/// Whether a process can adopt orphans (subreaper).
pub fn subreaper() -> bool {
    rustix::process::child_subreaper().is_ok()
}

/// Whether the kernel lists a process's children.
pub fn child_lists() -> bool {
    let me = crate::linux::own::pid();
    Path::new(&format!("/proc/{me}/task/{me}/children")).exists()
}

/// Whether bytes can be moved from a FIFO to a file in this directory without a copy.
pub fn splice(directory: &Path) -> io::Result<bool> {
    let path = directory.join("probe-fifo");
    pipe::make_fifo(&path)?;
    let both = pipe::open_both(&path);
    fs::remove_file(&path)?;
    let mut both = both?;
    both.write_all(b"probe")?;
    let mut file = scratch(directory)?;
    let moved = pipe::move_bytes(&both, &file, 5)?;
    let mut text = String::new();
    io::Seek::rewind(&mut file)?;
    file.read_to_string(&mut text)?;
    Ok(moved == Moved::Bytes(5) && text == "probe")
}

/// Whether holes can be punched in files in this directory.
pub fn holes(directory: &Path) -> io::Result<bool> {
    let mut file = scratch(directory)?;
    file.write_all(&[1; 64 * 1024])?;
    Ok(file::punch(&file, 0, 32 * 1024).is_ok())
}

/// Whether space that is reserved for a file in this directory can be relied on. `None` if none can be reserved.
pub fn reserve(directory: &Path) -> io::Result<Option<Rewrites>> {
    let file = scratch(directory)?;
    let rewrites = file::begin_in_place(&file, 4096);
    Ok(file::reserve(&file, 4096).is_ok().then_some(rewrites))
}

/// Whether files in this directory can be locked.
pub fn locks(directory: &Path) -> io::Result<bool> {
    let path = directory.join("probe-lock");
    let open = || {
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
    };
    let first = lock::take(open()?);
    let second = open().and_then(|file| lock::is_taken(&file));
    fs::remove_file(&path)?;
    Ok(matches!(first?, LockResult::Acquired(_)) && second?)
}

/// Whether single bytes of files in this directory can be locked.
pub fn byte_locks(directory: &Path) -> io::Result<bool> {
    lock::has_open_file_locks(&scratch(directory)?)
}

/// Whether sockets can be created in this directory, however long its path is.
pub fn sockets(directory: &Path) -> io::Result<bool> {
    const NAME: &str = "probe-socket";
    let listener = Listener::bind(directory, NAME);
    let connected = Stream::connect(directory, NAME, Duration::from_secs(1));
    let _ = fs::remove_file(directory.join(NAME));
    Ok(listener.is_ok() && connected?.is_some())
}

fn scratch(directory: &Path) -> io::Result<File> {
    let path = directory.join("probe-file");
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// The path of this process's control group in the hierarchy that systemd uses.
pub fn cgroup() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    systemd_path(&text).map(str::to_owned)
}

/// A hierarchy of systemd's own comes first. If there is one (version 1, or both versions), the unified one may exist,
/// too, but systemd does not use it.
fn systemd_path(groups: &str) -> Option<&str> {
    let named = groups
        .lines()
        .find_map(|line| line.split_once(":name=systemd:").map(|(_, path)| path));
    named.or_else(|| groups.lines().find_map(|line| line.strip_prefix("0::")))
}

/// Whether systemd manages this machine.
pub fn systemd() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// How many files this process may have open.
pub fn open_files() -> Option<u64> {
    most(libc::RLIMIT_NOFILE as _)
}

/// How many processes this user may have.
pub fn processes() -> Option<u64> {
    most(libc::RLIMIT_NPROC as _)
}

fn most(resource: libc::c_uint) -> Option<u64> {
    let limit = limits::get(resource).ok()?.rlim_max;
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_group_that_systemd_uses_is_found() {
        for (kind, groups, expected) in [
            (
                "version 2",
                "0::/a.slice/b.scope\n",
                Some("/a.slice/b.scope"),
            ),
            (
                "both",
                "3:pids:/x\n1:name=systemd:/a.scope\n0::/a.scope\n",
                Some("/a.scope"),
            ),
            (
                "version 1",
                "3:pids:/x\n1:name=systemd:/a.scope\n",
                Some("/a.scope"),
            ),
            (
                "version 1, the other mounted too",
                "1:name=systemd:/a.scope\n0::/\n",
                Some("/a.scope"),
            ),
            ("a colon in it", "0::/a:b.service\n", Some("/a:b.service")),
            ("none", "3:pids:/x\n", None),
        ] {
            assert_eq!(systemd_path(groups), expected, "{kind}");
        }
    }
}
