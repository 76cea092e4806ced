//! What the kernel tells of processes, through `/proc`.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// Some of what `/proc/<pid>/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub state: u8,
    pub parent: i32,
    /// The process group.
    pub group: i32,
    pub session: i32,
    /// The device that is its controlling terminal; 0 for none.
    pub terminal: u64,
    flags: u64,
    pub threads: u32,
    /// In clock ticks since boot.
    pub started: u64,
    /// As `wait` gives it; meaningful once the state is `Z`.
    pub exit_code: i32,
}

/// Whether the kernel tells this process the exit code of that zombie, so that a 0 is one. It asks for the same right
/// as for reading `io` there. If PID 1 does not reap, the zombie stays for ever, and its code is nowhere else.
pub fn tells_exit_code(pid: i32, started: u64) -> bool {
    let may_read = fs::read(format!("/proc/{pid}/io")).is_ok_and(|text| !text.is_empty());
    may_read && stat(pid).is_some_and(|stat| stat.started == started && stat.is_zombie())
}

impl Stat {
    /// Ended, and not yet waited for. The state is that of its first thread, which may end before others.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }

    /// Forked, and ended or still before it executed a program: until then it runs its parent's. The kernel forgets
    /// this only when it executes one, also of a process that has ended and is not waited for.
    pub fn never_executed(&self) -> bool {
        const FORKED_WITHOUT_EXEC: u64 = 0x40;
        self.flags & FORKED_WITHOUT_EXEC != 0
    }

    /// Suspended, by a signal or by somebody who traces it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// What is known of the process with this pid, if there is one and it can be looked at.
pub fn stat(pid: i32) -> Option<Stat> {
    look(pid).ok().flatten()
}

/// What is known of the process with this pid, if there is one. That it cannot be looked at, with no
/// descriptor left say, is not that it is gone.
pub fn look(pid: i32) -> io::Result<Option<Stat>> {
    match read_line(&format!("/proc/{pid}/stat"), &mut [0; 1024]) {
        Err(error) if is_gone(&error) => Ok(None),
        other => Ok(parse_stat(other?)),
    }
}

/// Whether this number is a process's. Threads have numbers too, under which they can be looked at.
pub fn is_process(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|group| number(group.trim())) == Some(pid)
}

/// What the kernel writes in one go, into a buffer that is longer than it ever is. The standard library
/// would feel its way in many small reads, since such a file has no size.
fn read_line<'a>(path: &str, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let count = fs::File::open(path)?.read(buffer)?;
    Ok(&buffer[..count])
}

fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    // The name in the second field may hold anything, parentheses and spaces too: the last closing
    // one ends it.
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(bytes.get(end + 2..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    // As proc(5) counts them: the state is the third.
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

/// The children of a process, whichever of its threads made them.
///
/// The kernel makes such a list entry by entry, and may leave entries out if one before them is waited for
/// meanwhile: whoever must have all of them looks whether all that are listed are still there. A process's own
/// list has all of them, unless another of its threads waits for children.
pub fn children(pid: i32) -> io::Result<Vec<i32>> {
    let directory = format!("/proc/{pid}/task");
    let threads = match threads(pid, &directory) {
        // It has ended, and its children are somebody else's.
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        other => other?,
    };
    let mut children = Vec::new();
    for thread in &threads {
        match fs::read_to_string(format!("{directory}/{thread}/children")) {
            Ok(text) => children.extend(text.split_ascii_whitespace().filter_map(number)),
            // The kernel keeps no list, or this thread has just ended: the long way tells both.
            Err(_) => return search_children(pid),
        }
    }
    // The children of a thread that ended meanwhile are another's now, whose list may have been read before.
    // Those of the first one went to a list that was read after it.
    let has_ended = |thread: &i32| *thread != pid && !is_thread_alive(&directory, *thread);
    if threads.iter().any(has_ended) {
        return search_children(pid);
    }
    Ok(children)
}

fn is_thread_alive(directory: &str, thread: i32) -> bool {
    read_line(&format!("{directory}/{thread}/stat"), &mut [0; 1024])
        .ok()
        .and_then(parse_stat)
        .is_some_and(|stat| !matches!(stat.state, b'Z' | b'X'))
}

fn threads(pid: i32, directory: &str) -> io::Result<Vec<i32>> {
    // Most processes have one thread, which is called like them.
    if links(directory)? == 1 {
        return Ok(vec![pid]);
    }
    numbered(directory)
}

/// How many threads this process has.
pub(crate) fn thread_count() -> io::Result<u64> {
    links("/proc/self/task")
}

/// How many threads have a directory here: each has a link, beside the directory's own two.
fn links(directory: &str) -> io::Result<u64> {
    Ok(fs::metadata(directory)?.nlink().saturating_sub(2))
}

/// Whether there is no such process: not when its directory was looked up, or no longer when that was
/// opened.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// For kernels that keep no list.
fn search_children(parent: i32) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for pid in all()? {
        // One that cannot be looked at may be a child.
        if look(pid)?.is_some_and(|stat| stat.parent == parent) {
            children.push(pid);
        }
    }
    Ok(children)
}

/// Every process there is to see.
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

/// What a process was started with in this variable. `None` for one that is gone, and for one of another user,
/// which may not be looked at. That there is no descriptor left to look with, say, is an error.
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

/// What a process was started with; nothing where that cannot be read.
pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// The number that a process has for itself: in a PID namespace of its own that is another one.
pub fn innermost_pid(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    number(pids?.split_ascii_whitespace().last()?)
}

/// Whether a process ignores a signal; no where that cannot be read.
pub fn ignores(pid: i32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Whether a process is executing a program; one that is ending or has ended is not.
pub fn is_executing(pid: i32) -> bool {
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(_) => true,
        // Somebody else's, but there.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// What tells this boot of the machine from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// The kernel's own id of it.
    Id(String),
    /// Where the kernel gives it none (gVisor): when it began, by the wall clock. That is another time once the clock
    /// has been set.
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

/// When this boot began, or else why its id is not known.
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

/// The sockets (their inodes) that listen for TCP connections on this port.
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

/// The sockets (their inodes) a process has open.
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
