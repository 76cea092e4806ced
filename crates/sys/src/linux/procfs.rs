//! What the kernel reports about processes in `/proc`.

use rustix::fs::{Mode, OFlags};
use rustix::path::Arg;
use std::ffi::CStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Some fields of `/proc/<pid>/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub state: u8,
    pub parent: i32,
    /// The process group.
    pub group: i32,
    pub session: i32,
    /// The device number of its controlling terminal. 0 if it has none.
    pub terminal: u64,
    flags: u64,
    pub threads: u32,
    /// In clock ticks since boot.
    pub started: u64,
    /// The status as `wait` reports it. Valid once the state is `Z`.
    pub exit_code: i32,
}

/// Whether the kernel shows this process the exit code of that zombie. If not, it shows a 0. The kernel demands the
/// same permission as for reading `io`, so this tries to read that. If PID 1 does not reap, the zombie stays, and its
/// code is nowhere else.
pub fn tells_exit_code(pid: i32, started: u64) -> bool {
    let may_read = fs::read(format!("/proc/{pid}/io")).is_ok_and(|text| !text.is_empty());
    may_read && stat(pid).is_some_and(|stat| stat.started == started && stat.is_zombie())
}

impl Stat {
    /// Whether it has ended and is not reaped. The state is that of its first thread, which may end before other
    /// threads.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }

    /// Whether it was forked and has not executed a program, be it alive or ended. The kernel remembers this until the
    /// process executes a program or is reaped.
    pub fn never_executed(&self) -> bool {
        const FORKED_WITHOUT_EXEC: u64 = 0x40;
        self.flags & FORKED_WITHOUT_EXEC != 0
    }

    /// Whether it has begun to end. It closes its files before it becomes a zombie.
    pub fn is_exiting(&self) -> bool {
        const EXITING: u64 = 0x4;
        self.flags & EXITING != 0
    }

    /// Whether it is a thread of the kernel, which runs no program.
    pub fn is_kernel_thread(&self) -> bool {
        const KERNEL_THREAD: u64 = 0x20_0000;
        self.flags & KERNEL_THREAD != 0
    }

    /// Whether it is stopped by a signal or by a tracer.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// The state of the process with this pid. `None` if there is none, or if it cannot be read.
pub fn stat(pid: i32) -> Option<Stat> {
    look(pid).ok().flatten()
}

/// The state of the process with this pid. `None` if there is none. If it cannot be read, for example because no
/// descriptor is free, that is an error.
pub fn look(pid: i32) -> io::Result<Option<Stat>> {
    // Searches look at thousands of processes, so the path is not allocated.
    let mut path = [0; 32];
    write!(&mut path[..], "/proc/{pid}/stat")?;
    let path = CStr::from_bytes_until_nul(&path).map_err(io::Error::other)?;
    match read_line(path, &mut [0; 1024]) {
        Err(error) if is_gone(&error) => Ok(None),
        other => Ok(parse_stat(other?)),
    }
}

/// Whether this number is a process's. Threads have numbers, too, and `/proc` also shows them.
pub fn is_process(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|group| number(group.trim())) == Some(pid)
}

/// Reads what the kernel writes in one go, into a buffer that is always long enough. The standard library would need
/// many small reads, because such a file has no size. And to open it, musl would make a second call.
fn read_line(path: impl Arg, buffer: &mut [u8]) -> io::Result<&[u8]> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let count = fs::File::from(file).read(buffer)?;
    Ok(&buffer[..count])
}

fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    // The name in the second field may contain anything, even parentheses and spaces. It ends at the last closing
    // parenthesis.
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(bytes.get(end + 2..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    // Fields are counted as in proc(5). The state is field 3.
    let mut last = 3;
    let mut number = |place: usize| {
        let between = place - last - 1;
        last = place;
        fields.nth(between)?.parse::<i64>().ok()
    };
    Some(Stat {
        state,
        parent: number(4)? as i32,
        group: number(5)? as i32,
        session: number(6)? as i32,
        terminal: number(7)? as u64,
        flags: number(9)? as u64,
        threads: number(20)? as u32,
        started: number(22)? as u64,
        exit_code: number(52)? as i32,
    })
}

/// The children of a process, of all its threads.
///
/// The kernel makes such a list entry by entry, and may leave entries out if an entry before them is reaped meanwhile.
/// A caller who needs all children must check afterwards that all listed ones still exist. A process's own list is
/// complete, unless another of its threads reaps children.
pub fn children(pid: i32) -> io::Result<Vec<i32>> {
    let directory = format!("/proc/{pid}/task");
    let threads = match threads(pid, &directory) {
        // The process has ended, and its children have another parent.
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        other => other?,
    };
    let mut children = Vec::new();
    for thread in &threads {
        match fs::read_to_string(format!("{directory}/{thread}/children")) {
            Ok(text) => children.extend(text.split_ascii_whitespace().filter_map(number)),
            // The kernel keeps no such list, or this thread has just ended. The search works in both cases.
            Err(_) => return search_children(pid),
        }
    }
    // The children of a thread that ended meanwhile belong to another thread now, whose list may have been read
    // before. The children of the first thread went to a thread whose list was read after it.
    let has_ended = |thread: &i32| *thread != pid && !is_thread_alive(&directory, *thread);
    if threads.iter().any(has_ended) {
        return search_children(pid);
    }
    Ok(children)
}

fn is_thread_alive(directory: &str, thread: i32) -> bool {
    read_line(format!("{directory}/{thread}/stat"), &mut [0; 1024])
        .ok()
        .and_then(parse_stat)
        .is_some_and(|stat| !matches!(stat.state, b'Z' | b'X'))
}

fn threads(pid: i32, directory: &str) -> io::Result<Vec<i32>> {
    // Most processes have a single thread, whose number is the pid.
    if links(directory)? == 1 {
        return Ok(vec![pid]);
    }
    numbered(directory)
}

/// How many threads this process has.
pub(crate) fn thread_count() -> io::Result<u64> {
    links("/proc/self/task")
}

/// How many threads have a directory here. Each adds a link to the two of the directory itself.
fn links(directory: &str) -> io::Result<u64> {
    Ok(fs::metadata(directory)?.nlink().saturating_sub(2))
}

/// Whether the error means that there is no such process: its directory was not found, or it ended between that and
/// the opening.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Searches all processes, for kernels that keep no list of children.
fn search_children(parent: i32) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for pid in all()? {
        // A process that cannot be looked at may be a child, so this fails.
        if look(pid)?.is_some_and(|stat| stat.parent == parent) {
            children.push(pid);
        }
    }
    Ok(children)
}

/// Every process that this process can see.
pub fn all() -> io::Result<Vec<i32>> {
    numbered("/proc")
}

/// The entries of a directory that are numbers.
fn numbered(directory: &str) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        found.extend(entry?.file_name().to_str().and_then(number));
    }
    Ok(found)
}

fn number(text: &str) -> Option<i32> {
    text.parse().ok()
}

/// The value that this variable had when the process was started. `None` if it had none, if the process is gone, or if
/// it belongs to another user and cannot be read. Other failures, such as no free descriptor, are errors.
pub fn started_with(pid: i32, variable: &str) -> io::Result<Option<Vec<u8>>> {
    let environment = match fs::read(format!("/proc/{pid}/environ")) {
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(None);
        }
        other => other?,
    };
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries
        .find_map(|entry| entry.strip_prefix(variable.as_bytes())?.strip_prefix(b"="))
        .map(<[u8]>::to_vec);
    Ok(value)
}

/// The arguments of a process. Empty if they cannot be read.
pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// The directory that a process works in. `None` if it cannot be read.
pub fn directory(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// What a process has open under this number: a path, or the kernel's name for something without one, such as
/// `pipe:[8]`. `None` if it cannot be read.
pub fn opened(pid: i32, descriptor: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()
}

/// The pid that a process has in its own PID namespace.
pub fn innermost_pid(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    number(pids?.split_ascii_whitespace().last()?)
}

/// Whether a process ignores a signal. `false` if that cannot be read.
pub fn ignores(pid: i32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Whether a process is executing a program. A process that is ending or has ended is not.
pub fn is_executing(pid: i32) -> bool {
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(_) => true,
        // It belongs to another user, but it exists.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// What distinguishes this boot of the machine from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// The boot ID of the kernel.
    Id(String),
    /// The time of the boot by the wall clock, if the kernel has no boot ID (gVisor). It changes when the clock is
    /// set.
    Since(u64),
}

impl Boot {
    pub fn into_id(self) -> String {
        match self {
            Boot::Id(id) => id,
            Boot::Since(seconds) => format!("since-{seconds}"),
        }
    }
}

/// This boot of the machine.
pub fn boot() -> io::Result<Boot> {
    static KNOWN: OnceLock<Boot> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known.clone());
    }
    let mut buffer = [0; 64];
    let found = match read_line("/proc/sys/kernel/random/boot_id", &mut buffer) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => boot_time(error),
        line => match str::from_utf8(line?) {
            Ok(text) => Ok(Boot::Id(text.trim().to_owned())),
            Err(error) => Err(io::Error::other(error)),
        },
    };
    let found = found?;
    Ok(KNOWN.get_or_init(|| found).clone())
}

/// The time of this boot. If it cannot be read, returns the error `without`.
fn boot_time(without: io::Error) -> io::Result<Boot> {
    let text = fs::read_to_string("/proc/stat")?;
    let since = text.lines().find_map(|line| line.strip_prefix("btime "));
    let since = since.and_then(|since| since.trim().parse().ok());
    since.map(Boot::Since).ok_or(without)
}

/// The id of this boot of the machine.
pub fn boot_id() -> io::Result<String> {
    boot().map(Boot::into_id)
}

/// The inodes of the sockets that listen for TCP connections on this port.
pub fn listeners(port: u16) -> Vec<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| listening(&table, port))
        .collect()
}

fn listening(table: &str, port: u16) -> Vec<u64> {
    const LISTEN: &str = "0A";
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
            let same = u16::from_str_radix(local_port, 16).ok()? == port;
            let inode = fields.get(9)?.parse().ok()?;
            (same && *fields.get(3)? == LISTEN).then_some(inode)
        })
        .collect()
}

/// The inodes of the sockets that a process has open.
pub fn sockets(pid: i32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let target = target.to_str()?;
            target
                .strip_prefix("socket:[")?
                .strip_suffix(']')?
                .parse()
                .ok()
        })
        .collect()
}

#[cfg(test)]
mod tests;
