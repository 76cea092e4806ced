//! A far stream that appears here: a client's connection, passed on byte for byte in both directions.
//!
//! The thread that reads the wire writes to the client what fits. The rest waits here, within the room that the far end
//! has, and the client's own thread writes it.

use super::wire::{End, ROOM_STEP, Sink, Wire};
use crate::clock;
use crate::places::Unreached;
use outlive_core::BootTime;
use outlive_core::far::{FarFailure, Opening};
use outlive_core::wire::{Room, WINDOW};
use outlive_sys::capture;
use outlive_sys::control::{Read, Stream};
use outlive_sys::poll::{self, Interest};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A stream that was opened for a client.
pub struct Relay {
    client: Arc<Stream>,
    state: Mutex<State>,
    /// Wakes the client's thread.
    bell: File,
}

struct State {
    number: u64,
    /// Whether the client knows that the stream is open. Nothing is written to it before.
    is_opened: bool,
    /// What the client has not taken.
    pending: Vec<u8>,
    /// Taken by the client since room was given.
    taken: usize,
    /// How much may be sent.
    room: Room,
    /// Whether the client was given anything.
    has_passed: bool,
    end: Option<End>,
}

/// How a stream was for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The far end has refused it, and the client does not know.
    Refused(FarFailure),
    /// The far end has ended it without a word.
    InVain,
    /// Words came, or the client has left.
    AfterWords,
}

/// How a stream came to be open, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    Yes,
    Refused(FarFailure),
    Lost(Unreached),
}

/// The client's side of a relay, which one thread serves.
pub struct Relaying {
    relay: Arc<Relay>,
    wire: Arc<Wire>,
    number: u64,
    woken: File,
    end: EndOf,
}

/// What the end of a stream means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOf {
    Keeper,
    File,
}

impl Relaying {
    /// Opens a stream for this client.
    pub fn open(
        wire: Arc<Wire>,
        client: Arc<Stream>,
        opening: &Opening,
        end: EndOf,
    ) -> Result<Relaying, Unreached> {
        let cannot = |error: io::Error| Unreached::NoCourier(format!("its courier: {error}"));
        let (woken, bell) = capture::new_pipe().map_err(cannot)?;
        let relay = Arc::new(Relay {
            client,
            bell,
            state: Mutex::new(State {
                number: 0,
                is_opened: false,
                pending: Vec::new(),
                taken: 0,
                room: Room::default(),
                has_passed: false,
                end: None,
            }),
        });
        let number = wire.open(opening, relay.clone())?;
        relay.lock().number = number;
        Ok(Relaying {
            relay,
            wire,
            number,
            woken,
            end,
        })
    }

    /// Waits until the far end has sent something or has ended the stream.
    pub fn wait_for_first_word(&self, by: BootTime) -> Opened {
        loop {
            let state = self.relay.lock();
            match (&state.end, state.pending.is_empty()) {
                (Some(End::Refused(failure)), true) => return Opened::Refused(failure.clone()),
                (Some(End::Lost(why)), true) => return Opened::Lost(why.clone()),
                (None, true) if clock::boot() >= by => return Opened::Lost(Unreached::TimedOut),
                (None, true) => {}
                _ => return Opened::Yes,
            }
            drop(state);
            self.sleep(&[], Some(by.since(clock::boot())));
        }
    }

    /// Passes on what comes, until the client or the far end has ended the stream. The client knows that it is open.
    pub fn run(self) -> Ended {
        self.relay.begin(&self.wire);
        let ended_well = self.pass_on();
        self.wire.end(self.number);
        // A keeper that goes closes the connection. Of a file, the client may look whether this was the end, and closes
        // the connection after that.
        if ended_well && self.end == EndOf::File {
            self.relay.client.shut_writing();
            self.wait_for_client();
        }
        self.relay.ended()
    }

    /// Ends a stream that its client never got.
    pub fn call_off(self) {
        self.wire.end(self.number);
    }

    /// Returns whether the far end has ended the stream in order.
    fn pass_on(&self) -> bool {
        let client = &self.relay.client;
        let mut is_shut = false;
        loop {
            let (room, waits) = match self.relay.next() {
                Next::Over { well } => return well,
                Next::Wait { room, pending } => (room, pending),
            };
            let reads = match is_shut || room == 0 {
                true => Interest::HangUp,
                false => Interest::Readable,
            };
            let mut on = vec![(client.as_fd(), reads)];
            if waits {
                on.push((client.as_fd(), Interest::Writable));
            }
            let ready = self.sleep(&on, None);
            if waits && ready.get(1) == Some(&true) {
                self.relay.flush(&self.wire);
            }
            if ready.first() != Some(&true) {
                continue;
            }
            match is_shut || room == 0 {
                true if has_hung_up(client) => return false,
                true => {}
                false => match self.take(room) {
                    Took::Bytes => {}
                    Took::Shut => {
                        is_shut = true;
                        self.wire.shut(self.number);
                    }
                    Took::Gone => return false,
                },
            }
        }
    }

    /// Takes what the client has sent.
    fn take(&self, room: usize) -> Took {
        let mut buffer = [0; 16 * 1024];
        let most = room.min(buffer.len());
        match self.relay.client.read(&mut buffer[..most]) {
            Ok(Read::Bytes(count)) => {
                self.relay.lock().room.use_up(count);
                self.wire.send(self.number, &buffer[..count]);
                Took::Bytes
            }
            Ok(Read::Empty) => Took::Bytes,
            Ok(Read::End) if !has_hung_up(&self.relay.client) => Took::Shut,
            Ok(Read::End) | Err(_) => Took::Gone,
        }
    }

    fn wait_for_client(&self) {
        let client = &self.relay.client;
        loop {
            let mut rest = [0; 4096];
            match client.read(&mut rest) {
                Ok(Read::Bytes(_)) => continue,
                Ok(Read::Empty) => {}
                // What it says after the end is of no use.
                Ok(Read::End) | Err(_) => return,
            }
            let _ = poll::wait(&[(client.as_fd(), Interest::Readable)], None);
        }
    }

    /// Sleeps until one of these is ready, or the bell rings. Returns which are.
    fn sleep(
        &self,
        on: &[(std::os::fd::BorrowedFd<'_>, Interest)],
        limit: Option<Duration>,
    ) -> Vec<bool> {
        let mut all = on.to_vec();
        all.push((self.woken.as_fd(), Interest::Readable));
        let ready = poll::wait(&all, limit).unwrap_or_default();
        if ready.last() == Some(&true) {
            let _ = (&self.woken).read(&mut [0; 64]);
        }
        ready
    }
}

enum Took {
    Bytes,
    /// The client sends no more.
    Shut,
    Gone,
}

enum Next {
    Over { well: bool },
    Wait { room: usize, pending: bool },
}

impl Relay {
    /// From now on the client gets what comes.
    fn begin(&self, wire: &Wire) {
        self.lock().is_opened = true;
        self.flush(wire);
    }

    fn ended(&self) -> Ended {
        let state = self.lock();
        match &state.end {
            Some(End::Refused(failure)) if !state.has_passed => Ended::Refused(failure.clone()),
            Some(End::Well | End::Lost(_)) if !state.has_passed => Ended::InVain,
            _ => Ended::AfterWords,
        }
    }

    fn next(&self) -> Next {
        let state = self.lock();
        match (&state.end, state.pending.is_empty()) {
            (Some(end), true) => Next::Over {
                well: *end == End::Well,
            },
            // It broke off, and what came before that can be asked for again.
            (Some(End::Lost(_) | End::Refused(_)), false) => Next::Over { well: false },
            (_, is_empty) => Next::Wait {
                room: state.room.left(),
                pending: !is_empty,
            },
        }
    }

    /// Writes to the client what it takes now.
    fn flush(&self, wire: &Wire) {
        let mut state = self.lock();
        let count = self.write(&mut state, wire);
        state.pending.drain(..count);
    }

    /// Returns how much of the pending bytes the client has taken.
    fn write(&self, state: &mut State, wire: &Wire) -> usize {
        if !state.is_opened {
            return 0;
        }
        let mut done = 0;
        while done < state.pending.len() {
            match self.client.write(&state.pending[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                // It is gone, which its thread finds out. The far end need not wait for it.
                Err(_) => done = state.pending.len(),
            }
        }
        state.has_passed |= done > 0;
        state.taken += done;
        if state.taken >= ROOM_STEP {
            wire.give_room(state.number, std::mem::take(&mut state.taken));
        }
        done
    }

    fn wake(&self) {
        let _ = (&self.bell).write(b"!");
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Relay {
    fn data(&self, wire: &Wire, stream: u64, bytes: &[u8]) -> Result<(), Unreached> {
        let mut state = self.lock();
        state.number = stream;
        if state.pending.len() + bytes.len() > WINDOW {
            let why = "it sent more than there was room for";
            return Err(Unreached::NotUnderstood(why.to_owned()));
        }
        state.pending.extend_from_slice(bytes);
        let count = self.write(&mut state, wire);
        state.pending.drain(..count);
        if !state.pending.is_empty() {
            self.wake();
        }
        Ok(())
    }

    fn room(&self, _: &Wire, bytes: usize) {
        self.lock().room.give(bytes);
        self.wake();
    }

    fn end(&self, _: &Wire, end: End) {
        self.lock().end = Some(end);
        self.wake();
    }
}

fn has_hung_up(client: &Stream) -> bool {
    let gone = poll::wait(&[(client.as_fd(), Interest::HangUp)], Some(Duration::ZERO));
    gone.is_ok_and(|gone| gone == [true])
}
