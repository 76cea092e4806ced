//! FIFOs and pipes, and moving bytes without copying them.

use crate::linux::own::naming;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, Timespec, mknodat, open};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// Creates a FIFO that only its owner can use.
pub fn make_fifo(path: &Path) -> io::Result<()> {
    let mode = Mode::RUSR | Mode::WUSR;
    naming("mknodat", mknodat(CWD, path, FileType::Fifo, mode, 0))
}

/// How many bytes can be read from a pipe or a socket at this moment.
pub fn bytes_ready(from: impl AsFd) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(from)?)
}

/// Opens a FIFO for reading. Neither the call nor later reads block.
pub fn open_reader(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// Opens a FIFO for reading, as [`open_reader`] does, so that [`look`] tells of its end from the beginning. The kernel
/// reports the end of a FIFO only if somebody had it open for writing since the reader opened it.
pub fn open_reader_to_look(path: &Path) -> io::Result<File> {
    let reader = open_reader(path)?;
    drop(open_writer(path)?);
    Ok(reader)
}

/// Opens a FIFO for reading and writing: its holder can always write, even if nobody else reads.
pub fn open_both(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// Opens a FIFO for reading and writing, with reads that do not block. It never reports an end, whoever else opens and
/// closes it.
pub fn open_bell(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// Opens a FIFO for writing without blocking. Fails if nobody reads it.
pub fn open_writer(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// Whether [`open_writer`] failed because nobody reads it.
pub fn is_unheard(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

/// Whether anybody has a FIFO open for reading. `false` if the FIFO does not exist.
pub fn is_open(path: &Path) -> io::Result<bool> {
    match open_writer(path) {
        Ok(_) => Ok(true),
        Err(error) if is_unheard(&error) || error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates a pipe: its reading and its writing end. Neither blocks.
pub fn new_pipe() -> io::Result<(File, File)> {
    let made = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
    let (reader, writer) = naming("pipe2", made)?;
    Ok((File::from(reader), File::from(writer)))
}

/// Opens another reading end of this pipe, from its writing end. Reads block, as programs expect of standard input.
pub fn reading_end(writer: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))
}

/// Opens another writing end of this pipe, from its reading end. As long as it is open, readers see no end of file.
pub fn writing_end(reader: &File) -> io::Result<File> {
    File::options()
        .write(true)
        .open(format!("/proc/self/fd/{}", reader.as_raw_fd()))
}

/// The capacity of a pipe in bytes.
pub fn width(pipe: &File) -> io::Result<usize> {
    Ok(rustix::pipe::fcntl_getpipe_size(pipe)?)
}

/// Sets the capacity of a pipe. The kernel refuses if the user's pipes are too large already, or if the pipe contains
/// more.
pub fn set_width(pipe: &File, bytes: usize) -> io::Result<()> {
    rustix::pipe::fcntl_setpipe_size(pipe, bytes)?;
    Ok(())
}

/// The number of bytes in a pipe.
pub fn queued(pipe: &File) -> io::Result<u64> {
    naming("ioctl", rustix::io::ioctl_fionread(pipe))
}

/// Whether nobody can ever read what is written to this pipe.
pub fn has_no_reader(writer: &File) -> io::Result<bool> {
    let mut fds = [PollFd::new(writer, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec::default()))?;
    Ok(fds[0].revents().contains(PollFlags::ERR))
}

/// What a reader of a FIFO would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Bytes,
    /// Nothing now, but a writer may write more.
    Nothing,
    /// Nothing, and nobody has it open for writing.
    End,
}

/// Looks at a FIFO of [`open_reader_to_look`] without taking anything from it.
pub fn look(feed: &File) -> io::Result<Found> {
    let mut fds = [PollFd::new(feed, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default()))?;
    let events = fds[0].revents();
    Ok(match events.contains(PollFlags::IN) {
        true => Found::Bytes,
        false if events.contains(PollFlags::HUP) => Found::End,
        false => Found::Nothing,
    })
}

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    Bytes(usize),
    /// Nothing is there now, but a writer may write more.
    Empty,
    /// Nothing is there, and nobody has it open for writing.
    End,
}

/// Moves up to `most` bytes out of a pipe to the position of `to`, without waiting. Each byte is taken from the pipe
/// and written in one step, so a process that is killed here neither loses nor doubles any. `to` must not be in append
/// mode, which the kernel refuses. If `from` is a file and `to` a pipe, the read position of the file advances in the
/// same step.
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
            // The terminal is not open in any program.
            Err(rustix::io::Errno::IO) if is_terminal(&from) => Ok(Moved::End),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

fn is_terminal(fd: impl AsFd) -> bool {
    rustix::termios::isatty(fd)
}
