//! Pseudo-terminals, and the terminal of this process.

use crate::linux::own::naming;
use crate::linux::poll::{self, Interest};
use rustix::fs::{OFlags, open};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, Winsize, isatty, tcgetattr,
    tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The supervisor's end of a terminal. What the program writes is read here, and what is written here is the program's
/// input. Neither waits.
#[derive(Debug)]
pub struct Master {
    file: File,
    /// The device number of the program's end.
    device: u64,
}

/// The mode that the program has set its terminal to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Line mode: the program gets input one line at a time.
    pub lines: bool,
    /// Typed characters are echoed.
    pub echo: bool,
    /// The end-of-file character. At the beginning of a line it ends the input. Within a line it hands the bytes so
    /// far to the program.
    pub end_of_file: u8,
}

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
}

impl Master {
    pub fn open(size: Size) -> io::Result<Master> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        naming("ioctl", unlockpt(&master))?;
        naming("ioctl", rustix::io::ioctl_fionbio(&master, true))?;
        let file = File::from(master);
        let device = File::from(peer(&file)?).metadata()?.rdev();
        let master = Master { file, device };
        master.resize(size)?;
        Ok(master)
    }

    /// Opens the program's end.
    pub fn open_program_end(&self) -> io::Result<File> {
        Ok(File::from(peer(&self.file)?))
    }

    /// Changes the size. The kernel tells programs on the terminal with SIGWINCH.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize {
            ws_row: size.rows,
            ws_col: size.cols,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.file, size)?)
    }

    pub fn mode(&self) -> io::Result<Mode> {
        let termios = tcgetattr(&self.file)?;
        Ok(Mode {
            lines: termios.local_modes.contains(LocalModes::ICANON),
            echo: termios.local_modes.contains(LocalModes::ECHO),
            end_of_file: termios.special_codes[SpecialCodeIndex::VEOF],
        })
    }

    /// Whether the program could read something now. Asking also makes the kernel hand over what was written here a
    /// moment ago.
    pub fn has_input_waiting(&self) -> io::Result<bool> {
        let end = self.open_program_end()?;
        let ready = poll::wait(&[(end.as_fd(), Interest::Readable)], Some(Duration::ZERO))?;
        Ok(ready == [true])
    }

    pub fn device(&self) -> u64 {
        self.device
    }
}

impl AsFd for Master {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn peer(master: &File) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    match ioctl_tiocgptpeer(master, flags) {
        // Some kernels (gVisor) do not know this call, but they know the path of the program's end.
        Err(Errno::NOTTY | Errno::INVAL | Errno::NOSYS | Errno::PERM) => {
            let path = ptsname(master, Vec::new())?;
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            Ok(open(path.as_c_str(), flags, rustix::fs::Mode::empty())?)
        }
        other => Ok(other?),
    }
}

/// The terminal of this process with changed settings. The old settings are restored when this is dropped.
#[derive(Debug)]
pub struct OwnTerminal {
    before: Termios,
}

impl OwnTerminal {
    /// From now on every key can be read as soon as it is typed. `None` if standard input is not a terminal.
    pub fn hand_over_keys() -> io::Result<Option<OwnTerminal>> {
        OwnTerminal::change(Termios::make_raw)
    }

    /// From now on this key also ends a line, so that the line can be read. `None` if standard input is not a
    /// terminal.
    pub fn hand_over_lines(key: u8) -> io::Result<Option<OwnTerminal>> {
        OwnTerminal::change(|termios| termios.special_codes[SpecialCodeIndex::VEOL] = key)
    }

    fn change(change: impl FnOnce(&mut Termios)) -> io::Result<Option<OwnTerminal>> {
        let stdin = io::stdin();
        if !isatty(&stdin) {
            return Ok(None);
        }
        let before = tcgetattr(&stdin)?;
        let mut after = before.clone();
        change(&mut after);
        tcsetattr(&stdin, OptionalActions::Now, &after)?;
        Ok(Some(OwnTerminal { before }))
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        // Also discards input that was typed and not read.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// The size of the terminal on standard output, if it is one.
pub fn own_size() -> Option<Size> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some(Size {
        rows: size.ws_row,
        cols: size.ws_col,
    })
}
