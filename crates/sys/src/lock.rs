//! Locks that a forked process shares.
//!
//! An open-file-description lock belongs to the open file, not to the process: a forked child holds
//! it too, it ends when the last holder is gone however that died, and asking about it does not
//! take it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A file that is locked for as long as this, or a forked copy of it, exists.
#[derive(Debug)]
pub struct Lock(File);

/// Whether a lock was to be had.
#[derive(Debug)]
pub enum Locked {
    Mine(Lock),
    /// Somebody else has it.
    Taken,
}

fn whole_file(kind: i32) -> libc::flock {
    // SAFETY: all zeroes is a valid `flock`; the fields that matter are set below.
    let mut flock: libc::flock = unsafe { std::mem::zeroed() };
    flock.l_type = kind as _;
    flock.l_whence = libc::SEEK_SET as _;
    flock
}

/// One byte of a file, which need not be there: several locks can lie side by side in one file.
fn one_byte(kind: i32, at: u32) -> libc::flock {
    let mut flock = whole_file(kind);
    flock.l_start = libc::off_t::from(at);
    flock.l_len = 1;
    flock
}

fn fcntl(file: &File, command: i32, flock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open while `file` is borrowed, and `flock` is a valid structure
    // that the kernel reads and writes only during the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, flock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes the lock if it is free, without waiting. On a file whose description holds it already
/// (handed down by a parent), this is how the heir says so.
pub fn take(file: File) -> io::Result<Locked> {
    try_to_lock(file, libc::F_WRLCK)
}

/// The same for a lock that others may share, which is to be had unless somebody has it alone.
pub fn share(file: File) -> io::Result<Locked> {
    try_to_lock(file, libc::F_RDLCK)
}

fn try_to_lock(file: File, kind: i32) -> io::Result<Locked> {
    Ok(match try_range(&file, whole_file(kind))? {
        true => Locked::Mine(Lock(file)),
        false => Locked::Taken,
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

/// Sleeps until the lock is to be had, and takes it: for all who share this open file.
pub fn wait(file: &File) -> io::Result<()> {
    loop {
        match fcntl(file, libc::F_OFD_SETLKW, &mut whole_file(libc::F_WRLCK)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Lets go of the lock on this file for all who share it.
pub fn release(file: &File) -> io::Result<()> {
    fcntl(file, libc::F_OFD_SETLK, &mut whole_file(libc::F_UNLCK))
}

/// Shares the lock on one byte of a file, which is held until the file is closed. Says whether it was to
/// be had.
pub fn share_byte(file: &File, at: u32) -> io::Result<bool> {
    try_range(file, one_byte(libc::F_RDLCK, at))
}

/// Whether somebody else holds a lock on this byte, shared or not.
pub fn is_byte_taken(file: &File, at: u32) -> io::Result<bool> {
    let mut flock = one_byte(libc::F_WRLCK, at);
    fcntl(file, libc::F_OFD_GETLK, &mut flock)?;
    Ok(i32::from(flock.l_type) != libc::F_UNLCK)
}

/// Whether somebody else holds the lock now.
pub fn is_taken(file: &File) -> io::Result<bool> {
    let mut flock = whole_file(libc::F_WRLCK);
    fcntl(file, libc::F_OFD_GETLK, &mut flock)?;
    Ok(i32::from(flock.l_type) != libc::F_UNLCK)
}

impl Lock {
    /// The locked file, to hand down to a process that is to hold the lock from here on.
    pub fn into_file(self) -> File {
        self.0
    }
}
