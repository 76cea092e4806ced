//! A place for a gate that was made after a fork, so that the other process can still get it.
//!
//! Two processes share the ends of a socket pair from before the fork. One of them sends its gate into it, and nobody
//! needs to receive: the descriptor waits in the kernel, also if the sender is killed. The other process takes it out when
//! it needs it, or never.

use super::gate::Gate;
use crate::linux::own::naming;
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// Holds at most one gate, for every process that shares it.
#[derive(Debug)]
pub struct Parking {
    entry: OwnedFd,
    exit: OwnedFd,
}

impl Parking {
    /// Creates a place without a gate.
    pub fn new() -> io::Result<Parking> {
        let kind = SocketType::SEQPACKET;
        let made = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
        let (entry, exit) = naming("socketpair", made)?;
        Ok(Parking { entry, exit })
    }

    /// Leaves a copy of this gate, in place of an earlier one.
    pub fn leave(&self, gate: &Gate) -> io::Result<()> {
        while self.take()?.is_some() {}
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let descriptors = [gate.0.as_fd()];
        rights.push(SendAncillaryMessage::ScmRights(&descriptors));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let byte = [IoSlice::new(b"g")];
        rustix::io::retry_on_intr(|| sendmsg(&self.entry, &byte, &mut rights, flags))?;
        Ok(())
    }

    /// Takes the gate out, if there is one.
    pub fn take(&self) -> io::Result<Option<Gate>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0u8; 1];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut into = [IoSliceMut::new(&mut byte)];
        match rustix::io::retry_on_intr(|| recvmsg(&self.exit, &mut into, &mut rights, flags)) {
            Ok(_) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let gates = rights.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        Ok(gates.last().map(Gate))
    }

    /// For a process that must not hold it.
    pub(super) fn numbers(&self) -> [RawFd; 2] {
        [self.entry.as_raw_fd(), self.exit.as_raw_fd()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::child::gate;

    #[test]
    fn the_newest_gate_is_taken_once() {
        let parking = Parking::new().expect("a place");
        assert!(parking.take().expect("no error").is_none());
        let (first, first_inside) = gate().expect("a gate");
        let (second, second_inside) = gate().expect("a gate");
        parking.leave(&first).expect("room");
        parking.leave(&second).expect("room");
        drop((first, second));
        // Nobody has the first one any more.
        let mut byte = [0u8; 1];
        let read = rustix::io::read(&first_inside.0, &mut byte);
        assert_eq!(read, Ok(0));
        let taken = parking.take().expect("no error").expect("a gate");
        taken.open();
        assert_eq!(rustix::io::read(&second_inside.0, &mut byte), Ok(1));
        assert!(parking.take().expect("no error").is_none());
    }
}
