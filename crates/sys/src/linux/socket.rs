//! Local sockets whose peer is known.
//!
//! The path of a socket may be at most 107 bytes long, and some directories are longer. In that case both sides open
//! the directory first and name the socket through it: `/proc/self/fd/7/control` is always short.

use crate::linux::own::naming;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
    accept_with, bind, connect as connect_socket, listen, recv, send, shutdown, socket_with,
    sockopt::{self, Timeout},
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// At most this many connections wait to be accepted. Further clients wait in `connect`.
const BACKLOG: i32 = 128;

/// Accepts connections from this user and from root.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A connection.
#[derive(Debug)]
pub struct Stream(OwnedFd);

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    Bytes(usize),
    /// There is nothing to read now.
    Empty,
    End,
}

/// The address of `directory/name`, and a descriptor that must stay open while the address is used.
fn address(directory: &Path, name: &str) -> io::Result<(SocketAddrUnix, Option<OwnedFd>)> {
    if let Ok(address) = SocketAddrUnix::new(directory.join(name)) {
        return Ok((address, None));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{name}", directory.as_raw_fd());
    Ok((SocketAddrUnix::new(path)?, Some(directory)))
}

fn new_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    let made = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    naming("socket", made)
}

impl Listener {
    /// Listens at `directory/name`. Replaces a socket that a dead process left there.
    pub fn bind(directory: &Path, name: &str) -> io::Result<Listener> {
        let socket = new_socket(SocketFlags::NONBLOCK)?;
        let (address, _directory) = address(directory, name)?;
        match bind(&socket, &address) {
            Err(rustix::io::Errno::ADDRINUSE) => {
                std::fs::remove_file(directory.join(name))?;
                bind(&socket, &address)?;
            }
            other => naming("bind", other)?,
        }
        naming("listen", listen(&socket, BACKLOG))?;
        Ok(Listener(socket))
    }

    /// The next connection, if one is waiting. Connections from other users are dropped.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        loop {
            match accept_with(&self.0, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => {
                    let user = sockopt::socket_peercred(&socket)?.uid.as_raw();
                    if user == crate::linux::own::user_id() || user == 0 {
                        return Ok(Some(Stream(socket)));
                    }
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Stops accepting, in this process and in all that have a copy of the socket. Clients that wait to be accepted
    /// see their connections close.
    pub fn close(&self) {
        let _ = shutdown(&self.0, Shutdown::Both);
        while accept_with(&self.0, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).is_ok() {}
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Stream {
    /// Connects to the socket at `directory/name`. `None` if nobody listens. If the listener accepts nothing (it is
    /// suspended, and many clients wait already), this fails with `TimedOut` after `patience`.
    pub fn connect(directory: &Path, name: &str, patience: Duration) -> io::Result<Option<Stream>> {
        let (address, _directory) = match address(directory, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let socket = new_socket(SocketFlags::empty())?;
        sockopt::set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
        loop {
            return match connect_socket(&socket, &address) {
                Ok(()) => {
                    sockopt::set_socket_timeout(&socket, Timeout::Send, None)?;
                    Ok(Some(Stream(socket)))
                }
                Err(rustix::io::Errno::AGAIN) => Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "it takes no connections; it may be suspended",
                )),
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::CONNREFUSED) => Ok(None),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => naming("connect", Err(error)),
            };
        }
    }

    /// Reads what is there. On a connection that this process made, waits until there is something.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        self.receive(buffer, RecvFlags::empty())
    }

    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<Read> {
        loop {
            return match recv(&self.0, &mut *buffer, flags) {
                Ok((0, _)) => Ok(Read::End),
                Ok((count, _)) => Ok(Read::Bytes(count)),
                Err(rustix::io::Errno::AGAIN) => Ok(Read::Empty),
                // The other side closed the connection without reading all that we sent. No more will come.
                Err(rustix::io::Errno::CONNRESET) => Ok(Read::End),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Looks at what is there, and leaves it there. Waits as [`read`](Stream::read) does.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<Read> {
        self.receive(buffer, RecvFlags::PEEK)
    }

    /// Ends what this side writes. The other side can still be read.
    pub fn shut_writing(&self) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Ends the connection for everybody who has a copy of it.
    pub fn shut(&self) {
        let _ = shutdown(&self.0, Shutdown::Both);
    }

    /// Writes as much as fits now. On a connection that this process made, writes everything.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            return match send(&self.0, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => Ok(count),
                Err(rustix::io::Errno::AGAIN) => Ok(0),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => Err(error.into()),
            };
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
