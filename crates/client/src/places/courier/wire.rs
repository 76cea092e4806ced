//! A wire as the courier has it: frames go out through one thread, and each frame that comes in belongs to a stream.

use super::journals::JournalStream;
use crate::clock;
use crate::places::Unreached;
use outlive_core::BootTime;
use outlive_core::far::{FarFailure, Greeting, Opening, StreamEnd};
use outlive_core::wire::{Decoder, Frame, Kind, MAX_PAYLOAD, WINDOW, parse_room, split};
use outlive_sys::capture;
use outlive_sys::poll::{self, Interest};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A ping goes out when nothing was heard, or nothing was said, for so long.
const QUIET: Duration = Duration::from_secs(15);
/// Without a frame for so long, the wire is lost.
const SILENCE: Duration = Duration::from_secs(45);

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
        self.outbox.put(Frame::new(stream, kind, payload).encode());
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
        let _ = (&self.bell.1).write(b"!");
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
        !self.is_tunnel && clock::boot() > self.heard() + SILENCE
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
                let failure = serde_json::from_slice::<StreamEnd>(&frame.payload);
                sink.end(
                    self,
                    match (frame.payload.is_empty(), failure) {
                        (true, _) => End::Well,
                        (false, Ok(end)) => End::Refused(end.error),
                        (false, Err(_)) => {
                            return Err(broken("a stream ended with words that are none"));
                        }
                    },
                );
            }
            // A stream that we ended meanwhile, or a sign of life.
            _ => {}
        }
        Ok(())
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
            true => heard + SILENCE,
            false => heard + QUIET,
        };
        let next = match self.wire.is_tunnel {
            true => by,
            false => Some(by.map_or(next, |by| by.min(next))),
        };
        let cannot = |error: io::Error| Fault::Broken(Unreached::Refused(error.to_string()));
        let left = next.map(|next| next.since(clock::boot()));
        let ready = poll::wait(&on, left).map_err(cannot)?;
        if ready[1] {
            let lost = self.wire.table().lost.clone();
            return Err(Fault::Broken(lost.unwrap_or(Unreached::TimedOut)));
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
        if !self.wire.is_tunnel && clock::boot() >= said + QUIET {
            self.wire.put(0, Kind::Ping, []);
        }
        Ok(())
    }

    fn be_silent(&mut self) -> Result<(), Fault> {
        if self.wire.is_tunnel {
            return Ok(());
        }
        let (now, heard) = (clock::boot(), self.wire.heard());
        if now >= heard + SILENCE {
            return Err(Fault::Broken(Unreached::TimedOut));
        }
        if now >= heard + QUIET && !self.has_pinged {
            self.has_pinged = true;
            self.wire.put(0, Kind::Ping, []);
        }
        Ok(())
    }
}

/// The frames that are to be written.
#[derive(Default)]
struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    is_closed: bool,
}

impl Outbox {
    fn put(&self, frame: Vec<u8>) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.frames.push_back(frame);
            self.changed.notify_one();
        }
    }

    /// Puts a sign of life, which any frame that waits is, too. So a far end that pings and does not read fills nothing.
    fn put_if_idle(&self, frame: Vec<u8>) {
        let mut queue = self.lock();
        if !queue.is_closed && queue.frames.is_empty() {
            queue.frames.push_back(frame);
            self.changed.notify_one();
        }
    }

    /// All that waits, up to the size of a few frames. `None` when the wire is over.
    fn next(&self) -> Option<Vec<u8>> {
        let queue = self.lock();
        let waits = |queue: &mut Queue| queue.frames.is_empty() && !queue.is_closed;
        let waited = self.changed.wait_while(queue, waits);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let mut bytes = queue.frames.pop_front().filter(|_| !queue.is_closed)?;
        while let Some(next) = queue.frames.front()
            && bytes.len() + next.len() <= WINDOW
        {
            bytes.extend_from_slice(next);
            queue.frames.pop_front();
        }
        Some(bytes)
    }

    fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.frames.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn pings_of_a_far_end_that_does_not_read_fill_nothing() {
        let wire = Wire::new().unwrap();
        for _ in 0..1000 {
            wire.take(Frame::new(0, Kind::Ping, [])).unwrap();
        }
        assert_eq!(wire.outbox.lock().frames.len(), 1);
        let sent = wire.outbox.next().unwrap();
        assert_eq!(sent, Frame::new(0, Kind::Pong, []).encode());
    }
}
