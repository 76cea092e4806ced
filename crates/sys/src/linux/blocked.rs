//! What a process is blocked in: the descriptors from which it waits to read.
//!
//! The kernel shows the system call in which each thread sleeps, with its arguments. A read names its descriptor. A call
//! that waits for several descriptors names a list in the memory of the process, or in a table of the kernel (epoll).
//! Nothing here guesses from what a program has printed.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};

/// A longer list belongs to a server, not to a program that waits for a person.
const MAX_FDS: u64 = 1024;
const POLLIN: i16 = 1;
const EPOLLIN: u32 = 1;

/// The file that a descriptor refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTarget {
    pub filesystem: u64,
    pub inode: u64,
    /// The device number, for a terminal.
    pub device: u64,
}

/// The descriptors from which some thread of this process waits to read. Empty if there is none, and if the kernel does
/// not say (a process of another user).
pub fn pending_reads(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("syscall")).ok())
        .filter_map(|text| Call::parse(&text))
        .flat_map(|call| call.reads(pid))
        .collect()
}

/// The file that a descriptor of a process refers to.
pub fn read_target(pid: i32, fd: i32) -> Option<ReadTarget> {
    let metadata = fs::metadata(format!("/proc/{pid}/fd/{fd}")).ok()?;
    Some(ReadTarget {
        filesystem: metadata.dev(),
        inode: metadata.ino(),
        device: metadata.rdev(),
    })
}

/// A system call that a thread sleeps in.
struct Call {
    number: i64,
    arguments: [u64; 6],
}

impl Call {
    /// `<number> <six arguments> <stack> <instruction>`, or a word for a thread that runs.
    fn parse(text: &str) -> Option<Call> {
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
        }
        Some(Call { number, arguments })
    }

    fn reads(&self, pid: i32) -> Vec<i32> {
        let [first, second, ..] = self.arguments;
        match self.number {
            libc::SYS_read | libc::SYS_readv | libc::SYS_splice | libc::SYS_tee => {
                vec![first as i32]
            }
            libc::SYS_sendfile => vec![second as i32],
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => polled(pid, first, second),
            libc::SYS_ppoll => polled(pid, first, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => selected(pid, first, second),
            libc::SYS_pselect6 => selected(pid, first, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => watched(pid, first as i32),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => watched(pid, first as i32),
            _ => Vec::new(),
        }
    }
}

/// `struct pollfd { int fd; short events; short revents; }`
fn polled(pid: i32, list: u64, count: u64) -> Vec<i32> {
    let entries = memory(pid, list, count.min(MAX_FDS) * 8);
    entries
        .chunks_exact(8)
        .filter(|entry| i16::from_ne_bytes([entry[4], entry[5]]) & POLLIN != 0)
        .map(|entry| i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]))
        .collect()
}

/// A bit for each descriptor below `count`.
fn selected(pid: i32, count: u64, set: u64) -> Vec<i32> {
    let count = count.min(MAX_FDS);
    let bits = memory(pid, set, count.div_ceil(64) * 8);
    (0..count as usize)
        .filter(|fd| {
            bits.get(fd / 8)
                .is_some_and(|byte| byte >> (fd % 8) & 1 == 1)
        })
        .map(|fd| fd as i32)
        .collect()
}

/// `tfd: 0 events: 19 …`, a line for each descriptor an epoll watches.
fn watched(pid: i32, epoll: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
            let fd = words.next()?.parse().ok()?;
            let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
            (events & EPOLLIN != 0).then_some(fd)
        })
        .collect()
}

fn memory(pid: i32, at: u64, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    if at == 0 {
        return Vec::new();
    }
    match File::open(format!("/proc/{pid}/mem"))
        .and_then(|memory| memory.read_exact_at(&mut bytes, at))
    {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_call_names_its_descriptor() {
        let call = Call::parse("0 0x3 0x7ffe 0x400 0x0 0x0 0x0 0x7ffd 0x7f12").expect("a call");
        assert_eq!((call.number, call.arguments[0]), (0, 3));
        assert!(Call::parse("running").is_none());
        assert!(Call::parse("-1 0x7ffd 0x7f12").is_none());
    }
}
