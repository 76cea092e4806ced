//! The gate at which a new process waits until its parent has recorded it, and the answer through it.

use crate::linux::own::naming;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use std::io;
use std::os::fd::OwnedFd;

/// The parent's side of a start.
#[derive(Debug)]
pub struct Gate(pub(super) OwnedFd);

/// The new process's side.
#[derive(Debug)]
pub struct GateInside(pub(super) OwnedFd);

/// The result of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Executed,
    Failed(ExecFailure),
}

/// Why a program could not be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecFailure {
    pub step: Step,
    pub errno: i32,
}

/// Where a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Starting a new session.
    Session,
    Directory,
    Execute,
}

const OPEN: [u8; 1] = *b"o";

/// The error if the program exists, but its interpreter or loader does not.
pub const NO_INTERPRETER: i32 = libc::ELIBBAD;

/// Creates a gate.
pub fn gate() -> io::Result<(Gate, GateInside)> {
    let kind = SocketType::SEQPACKET;
    let made = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let (outside, inside) = naming("socketpair", made)?;
    Ok((Gate(outside), GateInside(inside)))
}

impl Gate {
    /// Lets the new process execute its program. A second call has no effect.
    pub fn open(&self) {
        // It fails only if the process is gone, which `outcome` will tell.
        let _ = rustix::io::retry_on_intr(|| send(&self.0, &OPEN, SendFlags::NOSIGNAL));
    }

    /// Sleeps until the program is executed or the start has failed. Others can read the answer, too.
    pub fn outcome(&self) -> io::Result<Start> {
        let mut answer = [0u8; 5];
        loop {
            return match recv(&self.0, &mut answer[..], RecvFlags::PEEK) {
                // The exec closed the other side.
                Ok((0, _)) => Ok(Start::Executed),
                Ok(_) => Ok(Start::Failed(ExecFailure::decode(answer))),
                // The other side closed with a message unread, because the gate was opened twice. The kernel reports
                // this once, before an answer that may still wait.
                Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::INTR) => continue,
                Err(error) => Err(error.into()),
            };
        }
    }
}

impl ExecFailure {
    fn decode(bytes: [u8; 5]) -> ExecFailure {
        let [step, errno @ ..] = bytes;
        ExecFailure {
            step: match step {
                0 => Step::Directory,
                2 => Step::Session,
                _ => Step::Execute,
            },
            errno: i32::from_ne_bytes(errno),
        }
    }

    pub(super) fn encode(self) -> [u8; 5] {
        let [a, b, c, d] = self.errno.to_ne_bytes();
        let step = match self.step {
            Step::Directory => 0,
            Step::Execute => 1,
            Step::Session => 2,
        };
        [step, a, b, c, d]
    }
}
