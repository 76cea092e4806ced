//! FIFOs, and moving bytes without a copy.

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::pipe::{SpliceFlags, splice};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Makes a FIFO that only its owner can use.
pub fn make_fifo(path: &Path) -> io::Result<()> {
    Ok(mknodat(
        CWD,
        path,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )?)
}

/// Opens a FIFO for reading, not waiting for a writer, and reads without waiting.
pub fn open_reader(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// Opens a FIFO for both: its holder can always write, even while nobody else reads.
pub fn open_both(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// What a move found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    Bytes(usize),
    /// Nothing now; a writer may still come with more.
    Empty,
    /// Nothing, and nobody has it open for writing.
    End,
}

/// Moves up to `most` bytes out of a pipe to where `to` is positioned, without waiting. Each byte
/// is taken from the pipe and written in one step: a process killed here loses and doubles none.
/// `to` must not be in append mode, which the kernel refuses.
pub fn move_bytes(from: impl AsFd, to: impl AsFd, most: usize) -> io::Result<Moved> {
    loop {
        return match splice(
            &from,
            None,
            &to,
            None,
            most,
            SpliceFlags::NONBLOCK | SpliceFlags::MOVE,
        ) {
            Ok(0) => Ok(Moved::End),
            Ok(count) => Ok(Moved::Bytes(count)),
            Err(rustix::io::Errno::AGAIN) => Ok(Moved::Empty),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}
