//! A wire as the courier has it: frames go out through one thread, and each frame that comes in belongs to a stream.

use super::journals::JournalStream;
use super::outbox::Outbox;
use crate::clock;
use crate::hooks;
use crate::places::Unreached;
use outlive_core::BootTime;
use outlive_core::far::{FarFailure, Greeting, HOME_GONE, Opening, StreamEnd};
use outlive_core::wire::{Decoder, Frame, Kind, MAX_PAYLOAD, WINDOW, parse_room, split};
use outlive_sys::capture;
use outlive_sys::poll::{self, Interest};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A ping goes out when nothing was heard, or nothing was said, for so long.
fn quiet() -> Duration {
    hooks::unhurried(Duration::from_secs(15))
}

/// Without a frame for so long, the wire is lost.
fn silence() -> Duration {
    hooks::unhurried(Duration::from_secs(45))
}

/// Room is given when so much was taken, which is well before the sender has none left.
pub const ROOM_STEP: usize = WINDOW / 4;

/// How a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The far end had nothing more to say.
    Well,
    Refused(FarFailure),
    /// The wire is gone.
    Lost(Unreached),
}

/// Who gets the frames of one stream. These functions are called by the thread that reads, so they never wait for
/// anybody but the disk.
pub trait Sink: Send + Sync {
    /// Data came. An error ends the wire.
    fn data(&self, wire: &Wire, stream: u64, bytes: &[u8]) -> Result<(), Unreached>;
    /// So many bytes more may be sent.
    fn room(&self, _wire: &Wire, _bytes: usize) {}
    /// The stream is over. It is called once.
    fn end(&self, wire: &Wire, end: End);
}

/// The wire to a far end.
pub struct Wire {
    outbox: Outbox,
    table: Mutex<Table>,
    /// When the last frame came and went, on the boot clock.
    heard: AtomicU64,
    said: AtomicU64,
    greeting: OnceLock<Greeting>,
    journals: OnceLock<Arc<JournalStream>>,
    /// Wakes the thread that reads, because the wire is to be given up.
    bell: (File, File),
    /// It is carried by calls, and each ping would be one. Whoever makes the calls ends it when they fail.
    is_tunnel: bool,
}

struct Table {
    next: u64,
    open: HashMap<u64, Arc<dyn Sink>>,
    lost: Option<Unreached>,
}

impl Wire {
    pub fn new() -> io::Result<Wire> {
        let now = clock::boot().ms();
        Ok(Wire {
            outbox: Outbox::default(),
            table: Mutex::new(Table {
                next: 1,
                open: HashMap::new(),
                lost: None,
            }),
            heard: AtomicU64::new(now),
            said: AtomicU64::new(now),
            greeting: OnceLock::new(),
            journals: OnceLock::new(),
            bell: capture::new_pipe()?,
            is_tunnel: false,
        })
    }

    /// A wire that is carried by calls.
    pub fn of_tunnel() -> io::Result<Wire> {
        Ok(Wire {
            is_tunnel: true,
            ..Wire::new()?
        })
    }

    /// Who answered. Nobody gets the wire before that is known.
    pub fn greeting(&self) -> Option<&Greeting> {
        self.greeting.get()
    }

    pub fn set_greeting(&self, greeting: Greeting) {
        let _ = self.greeting.set(greeting);
    }

    /// The stream of journals, which is open as long as the wire.
    pub fn journals(&self) -> Option<&JournalStream> {
        self.journals.get().map(AsRef::as_ref)
    }

    pub fn set_journals(&self, journals: Arc<JournalStream>) {
        let _ = self.journals.set(journals);
    }

    /// Opens a stream.
    pub fn open(&self, opening: &Opening, sink: Arc<dyn Sink>) -> Result<u64, Unreached> {
        let payload = serde_json::to_vec(opening)
            .map_err(|error| Unreached::NotUnderstood(format!("cannot be asked: {error}")))?;
        let mut table = self.table();
        if let Some(why) = &table.lost {
            return Err(why.clone());
        }
        let number = table.next;
        table.next += 1;
        table.open.insert(number, sink);
        // Under the lock, so that streams are opened in the order of their numbers.
        self.put(number, Kind::Open, payload);
        Ok(number)
    }

    /// Sends data. The caller has room for it.
    pub fn send(&self, stream: u64, data: &[u8]) {
        for piece in split(data) {
            self.put(stream, Kind::Data, piece);
        }
    }

    /// Says that so many bytes were taken.
    pub fn give_room(&self, stream: u64, bytes: usize) {
        self.put(stream, Kind::Room, bytes.to_string());
    }

    /// Sends no more data on this stream.
    pub fn shut(&self, stream: u64) {
        self.put(stream, Kind::Shut, []);
    }

    /// Ends a stream from this side. Its sink hears no more of it.
    pub fn end(&self, stream: u64) {
        let was_open = self.table().open.remove(&stream).is_some();
        if was_open {
            self.put(stream, Kind::End, []);
        }
    }

    fn put(&self, stream: u64, kind: Kind, payload: impl Into<Vec<u8>>) {
        let payload = payload.into();
        debug_assert!(payload.len() <= MAX_PAYLOAD, "the payload is too long");
        self.said.store(clock::boot().ms(), Ordering::Relaxed);
        if !self.outbox.put(Frame::new(stream, kind, payload).encode()) {
            self.wake_reader();
        }
    }

    fn wake_reader(&self) {
        let _ = (&self.bell.1).write(b"!");
    }

    /// Writes what is to be sent, until the wire is over.
    pub fn write_to(&self, mut input: File) {
        while let Some(bytes) = self.outbox.next() {
            // If nobody reads any more, the other direction ends too.
            if input.write_all(&bytes).is_err() {
                return;
            }
        }
    }

    /// Gives the wire up from another thread than the one that reads.
    pub fn cut(&self, why: Unreached) {
        self.table().lost.get_or_insert(why);
        self.wake_reader();
    }

    pub fn is_lost(&self) -> bool {
        self.table().lost.is_some()
    }

    /// Nothing goes over this wire any more. Ends all its streams.
    pub fn close(&self, why: &Unreached) {
        let streams: Vec<_> = {
            let mut table = self.table();
            table.lost.get_or_insert_with(|| why.clone());
            table.open.drain().collect()
        };
        self.outbox.close();
        for (_, sink) in streams {
            sink.end(self, End::Lost(why.clone()));
        }
    }

    pub fn heard(&self) -> BootTime {
        BootTime::from_ms(self.heard.load(Ordering::Relaxed))
    }

    /// Nothing was heard for so long that the far end has left. The thread that reads finds that out late if the machine
    /// was suspended.
    pub fn is_stale(&self) -> bool {
        !self.is_tunnel && clock::boot() > self.heard() + silence()
    }

    /// Says whether somebody waits for news, to whom that makes a difference.
    pub fn attend(&self, is_listened: bool) {
        if self.is_tunnel {
            let kind = match is_listened {
                true => Kind::Open,
                false => Kind::Shut,
            };
            self.put(0, kind, []);
        }
    }

    fn take(&self, frame: Frame) -> Result<(), Fault> {
        let broken = |why: &str| Fault::Broken(Unreached::NotUnderstood(why.to_owned()));
        let sink = self.table().open.get(&frame.stream).cloned();
        match (frame.kind, sink) {
            (Kind::Ping, _) => self
                .outbox
                .put_if_idle(Frame::new(0, Kind::Pong, []).encode()),
            (Kind::Open, _) => return Err(broken("the far end opened a stream")),
            (Kind::Data, Some(sink)) => sink
                .data(self, frame.stream, &frame.payload)
                .map_err(Fault::Broken)?,
            (Kind::Room, Some(sink)) => {
                let room = parse_room(&frame.payload);
                sink.room(self, room.ok_or_else(|| broken("room without a number"))?);
            }
            (Kind::End, Some(sink)) => {
                self.table().open.remove(&frame.stream);
                let end = read_end(&frame.payload);
                let end = end.ok_or_else(|| broken("a stream ended with words that are none"))?;
                return self.end_sink(&*sink, end);
            }
            // A stream that we ended meanwhile, or a sign of life.
            _ => {}
        }
        Ok(())
    }

    /// The far end has ended a stream.
    fn end_sink(&self, sink: &dyn Sink, end: End) -> Result<(), Fault> {
        match end {
            // Nothing that it says of jobs would be about ours.
            End::Refused(failure) if failure.code == HOME_GONE => {
                let why = Unreached::Refused(failure.message);
                sink.end(self, End::Lost(why.clone()));
                Err(Fault::Broken(why))
            }
            end => {
                sink.end(self, end);
                Ok(())
            }
        }
    }

    /// Why the wire was given up from here.
    fn why_cut(&self) -> Unreached {
        if self.outbox.is_flooded() {
            let why = "it asks for more and more, and does not read what is sent";
            return Unreached::NotUnderstood(why.to_owned());
        }
        let lost = self.table().lost.clone();
        lost.unwrap_or(Unreached::TimedOut)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a stream ended whose `end` has this payload. `None` if it cannot be read.
fn read_end(payload: &[u8]) -> Option<End> {
    if payload.is_empty() {
        return Some(End::Well);
    }
    let end: StreamEnd = serde_json::from_slice(payload).ok()?;
    Some(End::Refused(end.error.quoted()))
}

/// Why a wire is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The transport has ended; it says why.
    Ended,
    /// What came cannot be trusted, or nothing came.
    Broken(Unreached),
}

/// The thread that reads a wire.
pub struct Reading<'a> {
    wire: &'a Wire,
    output: &'a File,
    decoder: Decoder,
    buffer: Vec<u8>,
    has_pinged: bool,
}

impl<'a> Reading<'a> {
    pub fn of(wire: &'a Wire, output: &'a File) -> Reading<'a> {
        Reading {
            wire,
            output,
            decoder: Decoder::default(),
            buffer: vec![0; WINDOW / 4],
            has_pinged: false,
        }
    }

    /// Waits for frames and passes them on. Returns after some came, after a ping went out, or at `by`.
    pub fn step(&mut self, by: Option<BootTime>) -> Result<(), Fault> {
        let on = [
            (self.output.as_fd(), Interest::Readable),
            (self.wire.bell.0.as_fd(), Interest::Readable),
        ];
        let heard = self.wire.heard();
        let next = match self.has_pinged {
            true => heard + silence(),
            false => heard + quiet(),
        };
        let next = match self.wire.is_tunnel {
            true => by,
            false => Some(by.map_or(next, |by| by.min(next))),
        };
        let cannot = |error: io::Error| Fault::Broken(Unreached::Refused(error.to_string()));
        let left = next.map(|next| next.since(clock::boot()));
        let ready = poll::wait(&on, left).map_err(cannot)?;
        if ready[1] {
            return Err(Fault::Broken(self.wire.why_cut()));
        }
        if !ready[0] {
            return self.be_silent();
        }
        match (&*self.output).read(&mut self.buffer) {
            Ok(0) => return Err(Fault::Ended),
            Ok(count) => self.decoder.push(&self.buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(cannot(error)),
        }
        self.pass_on()
    }

    fn pass_on(&mut self) -> Result<(), Fault> {
        let unreadable = |error: outlive_core::wire::WireError| {
            Fault::Broken(Unreached::NotUnderstood(format!("it sent {error}")))
        };
        while let Some(frame) = self.decoder.next_frame().map_err(unreadable)? {
            let now = clock::boot();
            self.wire.heard.store(now.ms(), Ordering::Relaxed);
            self.has_pinged = false;
            self.wire.take(frame)?;
        }
        // A far end that only speaks must hear of us, too.
        let said = BootTime::from_ms(self.wire.said.load(Ordering::Relaxed));
        if !self.wire.is_tunnel && clock::boot() >= said + quiet() {
            self.wire.put(0, Kind::Ping, []);
        }
        Ok(())
    }

    fn be_silent(&mut self) -> Result<(), Fault> {
        if self.wire.is_tunnel {
            return Ok(());
        }
        let (now, heard) = (clock::boot(), self.wire.heard());
        if now >= heard + silence() {
            return Err(Fault::Broken(Unreached::TimedOut));
        }
        if now >= heard + quiet() && !self.has_pinged {
            self.has_pinged = true;
            self.wire.put(0, Kind::Ping, []);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn a_far_end_that_does_not_read_what_it_asks_for_loses_the_wire() {
        let wire = Wire::new().unwrap();
        let piece = vec![0; MAX_PAYLOAD];
        while !wire.outbox.is_flooded() {
            wire.send(1, &piece);
        }
        assert!(matches!(wire.why_cut(), Unreached::NotUnderstood(_)));
        // The reader is woken, and gives the wire up.
        let (reader, _writer) = capture::new_pipe().unwrap();
        let step = Reading::of(&wire, &reader).step(None);
        assert!(matches!(
            step,
            Err(Fault::Broken(Unreached::NotUnderstood(_)))
        ));
    }

    #[test]
    fn pings_of_a_far_end_that_does_not_read_fill_nothing() {
        let wire = Wire::new().unwrap();
        for _ in 0..1000 {
            wire.take(Frame::new(0, Kind::Ping, [])).unwrap();
        }
        let sent = wire.outbox.next().unwrap();
        assert_eq!(sent, Frame::new(0, Kind::Pong, []).encode());
    }
}
