//! Locks that a forked process shares.
//!
//! An open-file-description lock belongs to the open file, not to the process. A forked child holds it, too, and it is
//! released when the last holder has ended, however it ended. Whether it is taken can be asked without taking it.
//!
//! A kernel that does not know such locks (gVisor) has `flock`, which belongs to the open file as well. But it covers
//! the whole file, so single bytes cannot be locked there. And to ask whether it is taken means to take it for an
//! instant, so a process that finds it taken tries again.

use crate::linux::own::naming;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

/// A file that is locked for as long as this, or a forked copy of it, exists.
#[derive(Debug)]
pub struct Lock(File);

/// The result of trying to take a lock.
#[derive(Debug)]
pub enum LockResult {
    Acquired(Lock),
    /// Another process holds it.
    Held,
}

fn whole_file(kind: i32) -> libc::flock {
    // SAFETY: all zeroes is a valid `flock`; the fields that matter are set below.
    let mut flock: libc::flock = unsafe { std::mem::zeroed() };
    flock.l_type = kind as _;
    flock.l_whence = libc::SEEK_SET as _;
    flock
}

/// A range of bytes, which need not exist in the file. So one file can have several locks side by side.
fn bytes(kind: i32, range: &Range<u64>) -> io::Result<libc::flock> {
    let offset = |value: u64| libc::off_t::try_from(value).map_err(io::Error::other);
    let mut flock = whole_file(kind);
    flock.l_start = offset(range.start)?;
    flock.l_len = offset(range.end - range.start)?;
    Ok(flock)
}

fn fcntl(file: &File, command: i32, flock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open while `file` is borrowed, and `flock` is a valid structure
    // that the kernel reads and writes only during the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, flock) } {
        -1 => naming("fcntl", Err(io::Error::last_os_error())),
        _ => Ok(()),
    }
}

/// Whether the error means that the kernel does not know these locks.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

/// Whether the kernel knows locks of open files. If not, `flock` is used instead.
pub fn has_open_file_locks(file: &File) -> io::Result<bool> {
    match fcntl(file, libc::F_OFD_GETLK, &mut whole_file(libc::F_WRLCK)) {
        Err(error) if is_unknown(&error) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Returns whether the lock was taken.
fn flock(file: &File, operation: i32) -> io::Result<bool> {
    loop {
        // SAFETY: a plain call on a descriptor that is open while `file` is borrowed.
        if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(false),
            _ => return naming("flock", Err(error)),
        }
    }
}

/// Takes the lock if it is free. A process that only asks may hold it for an instant, so this tries several times.
fn try_flock(file: &File, kind: i32) -> io::Result<bool> {
    const TRIES: u32 = 10;
    const PAUSE: Duration = Duration::from_millis(2);
    let operation = match kind {
        libc::F_RDLCK => libc::LOCK_SH,
        _ => libc::LOCK_EX,
    };
    for _ in 1..TRIES {
        if flock(file, operation | libc::LOCK_NB)? {
            return Ok(true);
        }
        thread::sleep(PAUSE);
    }
    flock(file, operation | libc::LOCK_NB)
}

/// Takes the lock if it is free, without waiting. Also succeeds if this open file holds the lock already, because a
/// parent handed it down.
pub fn take(file: File) -> io::Result<LockResult> {
    try_to_lock(file, libc::F_WRLCK)
}

/// Takes a shared lock if it is free, without waiting. It is free unless somebody holds an exclusive one.
pub fn share(file: File) -> io::Result<LockResult> {
    try_to_lock(file, libc::F_RDLCK)
}

fn try_to_lock(file: File, kind: i32) -> io::Result<LockResult> {
    let is_mine = match try_range(&file, whole_file(kind)) {
        Err(error) if is_unknown(&error) => try_flock(&file, kind),
        other => other,
    };
    Ok(match is_mine? {
        true => LockResult::Acquired(Lock(file)),
        false => LockResult::Held,
    })
}

fn try_range(file: &File, mut range: libc::flock) -> io::Result<bool> {
    match fcntl(file, libc::F_OFD_SETLK, &mut range) {
        Ok(()) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Sleeps until the lock is free, and takes it for everybody who shares this open file.
pub fn wait(file: &File) -> io::Result<()> {
    wait_for(file, libc::F_WRLCK, libc::LOCK_EX)
}

/// Sleeps until nobody holds an exclusive lock, and takes a shared one.
pub fn wait_shared(file: &File) -> io::Result<()> {
    wait_for(file, libc::F_RDLCK, libc::LOCK_SH)
}

fn wait_for(file: &File, kind: i32, operation: i32) -> io::Result<()> {
    loop {
        match fcntl(file, libc::F_OFD_SETLKW, &mut whole_file(kind)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_unknown(&error) => return flock(file, operation).map(drop),
            other => return other,
        }
    }
}

/// Releases the lock for everybody who shares this open file.
pub fn release(file: &File) -> io::Result<()> {
    match fcntl(file, libc::F_OFD_SETLK, &mut whole_file(libc::F_UNLCK)) {
        Err(error) if is_unknown(&error) => flock(file, libc::LOCK_UN).map(drop),
        other => other,
    }
}

/// Takes a shared lock on one byte of a file. It is held until the file is closed. Returns whether this succeeded.
pub fn share_byte(file: &File, at: u64) -> io::Result<bool> {
    try_range(file, bytes(libc::F_RDLCK, &(at..at + 1))?)
}

/// Releases the lock of one byte, if this open file has it.
pub fn release_byte(file: &File, at: u64) -> io::Result<()> {
    fcntl(
        file,
        libc::F_OFD_SETLK,
        &mut bytes(libc::F_UNLCK, &(at..at + 1))?,
    )
}

/// The bytes of this range on which others hold a lock, shared or not. For locks of one byte each.
pub fn taken_bytes(file: &File, range: Range<u64>) -> io::Result<Vec<u64>> {
    let mut taken = Vec::new();
    let mut open = vec![range];
    // The kernel names any one of the locks in a range, so the ranges on both sides of it are asked for, too.
    while let Some(range) = open.pop() {
        if range.is_empty() {
            continue;
        }
        let mut flock = bytes(libc::F_WRLCK, &range)?;
        fcntl(file, libc::F_OFD_GETLK, &mut flock)?;
        if i32::from(flock.l_type) == libc::F_UNLCK {
            continue;
        }
        let at = u64::try_from(flock.l_start).map_err(io::Error::other)?;
        // A lock of more than one byte is not one of ours. It must not make this loop endless.
        let at = at.clamp(range.start, range.end - 1);
        taken.push(at);
        open.extend([range.start..at, at + 1..range.end]);
    }
    Ok(taken)
}

/// Whether the lock is held through another open of the file, usually by another process.
pub fn is_taken(file: &File) -> io::Result<bool> {
    conflicts(file, libc::F_WRLCK)
}

/// Whether the exclusive lock is held through another open of the file. Shared locks do not count.
pub fn is_owned(file: &File) -> io::Result<bool> {
    conflicts(file, libc::F_RDLCK)
}

fn conflicts(file: &File, kind: i32) -> io::Result<bool> {
    let mut flock = whole_file(kind);
    match fcntl(file, libc::F_OFD_GETLK, &mut flock) {
        Err(error) if is_unknown(&error) => is_flock_taken(file),
        other => other.map(|()| i32::from(flock.l_type) != libc::F_UNLCK),
    }
}

fn is_flock_taken(file: &File) -> io::Result<bool> {
    // A new open file, because asking would change the lock that this one may hold.
    let asks = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    // The lock ends when this file is closed. Processes that ask at the same time share it.
    flock(&asks, libc::LOCK_SH | libc::LOCK_NB).map(|is_free| !is_free)
}

impl Lock {
    /// The locked file, to be inherited by the process that holds the lock from now on.
    pub fn into_file(self) -> File {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flock_is_held_by_the_open_file_and_asked_about() -> io::Result<()> {
        let path = std::env::temp_dir().join(format!("outlive-flock-{}", crate::linux::own::pid()));
        let (first, second) = (File::create(&path)?, File::open(&path)?);
        std::fs::remove_file(&path)?;
        assert!(!is_flock_taken(&second)?, "nobody has it");
        assert!(try_flock(&first, libc::F_WRLCK)?);
        let copy = first.try_clone()?;
        drop(first);
        assert!(is_flock_taken(&second)?, "the copy holds it too");
        assert!(!try_flock(&second, libc::F_RDLCK)?);
        assert!(is_flock_taken(&second)?, "to ask does not free it");
        drop(copy);
        assert!(!is_flock_taken(&second)?);
        assert!(try_flock(&second, libc::F_WRLCK)?);
        Ok(())
    }

    #[test]
    fn those_who_share_a_lock_do_not_own_it() -> io::Result<()> {
        let path = std::env::temp_dir().join(format!("outlive-owned-{}", crate::linux::own::pid()));
        let make = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let (one, other) = (File::open(&path)?, File::open(&path)?);
        std::fs::remove_file(&path)?;
        wait_shared(&one)?;
        wait_shared(&other)?;
        let asks = make.try_clone()?;
        assert!(is_taken(&asks)? && !is_owned(&asks)?, "shared by two");
        release(&one)?;
        release(&other)?;
        wait(&make)?;
        assert!(is_owned(&one)?);
        assert!(!is_owned(&make)?, "one's own");
        Ok(())
    }

    #[test]
    fn every_byte_that_others_lock_is_named() -> io::Result<()> {
        let path = std::env::temp_dir().join(format!("outlive-lock-{}", crate::linux::own::pid()));
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path)
        };
        let (asks, one, other) = (open()?, open()?, open()?);
        std::fs::remove_file(&path)?;
        assert_eq!(taken_bytes(&asks, 0..1 << 40)?, [0u64; 0]);
        for (file, at) in [(&one, 7), (&one, 1 << 30), (&other, 7), (&other, 100)] {
            assert!(share_byte(file, at)?, "shared");
        }
        assert!(share_byte(&asks, 500)?, "one's own");
        let mut taken = taken_bytes(&asks, 0..1 << 40)?;
        taken.sort_unstable();
        assert_eq!(taken, [7, 100, 1 << 30]);
        assert_eq!(taken_bytes(&asks, 8..100)?, [0u64; 0]);
        drop(other);
        let mut taken = taken_bytes(&asks, 0..1 << 40)?;
        taken.sort_unstable();
        assert_eq!(taken, [7, 1 << 30]);
        Ok(())
    }
}
