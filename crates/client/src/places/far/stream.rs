//! One stream of a wire, and the table of those that are open.

use super::outbox::{Outbox, Over};
use outlive_core::far::{FarFailure, StreamEnd};
use outlive_core::wire::{Frame, Kind, Room, WINDOW, split};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The wire, as its streams see it.
#[derive(Debug, Default)]
pub struct Wire {
    pub outbox: Outbox,
    open: Mutex<HashMap<u64, Arc<Stream>>>,
}

impl Wire {
    /// A new stream with this number, which the courier has opened.
    pub fn open(self: &Arc<Wire>, number: u64) -> Arc<Stream> {
        let stream = Arc::new(Stream {
            number,
            wire: Arc::clone(self),
            flow: Mutex::default(),
            changed: Condvar::new(),
        });
        self.streams().insert(number, Arc::clone(&stream));
        stream
    }

    /// The stream with this number, unless it is over.
    pub fn find(&self, number: u64) -> Option<Arc<Stream>> {
        self.streams().get(&number).cloned()
    }

    pub fn count(&self) -> usize {
        self.streams().len()
    }

    /// Ends all streams, without a word to the other side.
    pub fn close(&self) {
        self.outbox.close();
        let streams: Vec<_> = self.streams().drain().collect();
        for (_, stream) in streams {
            stream.cancel();
        }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Arc<Stream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One stream.
#[derive(Debug)]
pub struct Stream {
    pub number: u64,
    wire: Arc<Wire>,
    flow: Mutex<Flow>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Flow {
    /// How much may be sent.
    room: Room,
    /// What came and was not taken.
    came: VecDeque<Vec<u8>>,
    came_bytes: usize,
    /// Nothing more comes.
    shut: bool,
    over: bool,
    /// What is to be done as soon as the stream is over.
    at_end: Option<AtEnd>,
}

/// Breaks off what a thread of the stream waits for elsewhere.
struct AtEnd(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for AtEnd {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("AtEnd")
    }
}

impl Stream {
    /// Sends data when there is room for it.
    pub fn send(&self, data: &[u8]) -> Result<(), Over> {
        for piece in split(data) {
            let mut rest = piece;
            while !rest.is_empty() {
                let count = self.room(rest.len())?;
                let (now, later) = rest.split_at(count);
                self.put(Kind::Data, now)?;
                rest = later;
            }
        }
        Ok(())
    }

    /// Waits for room, and takes at most this much of it.
    fn room(&self, most: usize) -> Result<usize, Over> {
        let mut flow = self.lock();
        while flow.room.left() == 0 && !flow.over {
            flow = self.wait(flow);
        }
        if flow.over {
            return Err(Over);
        }
        let count = flow.room.left().min(most);
        flow.room.use_up(count);
        Ok(count)
    }

    /// The other side has taken so many bytes.
    pub fn give(&self, bytes: usize) {
        self.lock().room.give(bytes);
        self.changed.notify_all();
    }

    /// Data came. Fails if it is more than there was room for.
    pub fn bring(&self, data: Vec<u8>) -> Result<(), Over> {
        let mut flow = self.lock();
        flow.came_bytes += data.len();
        if flow.came_bytes > WINDOW {
            return Err(Over);
        }
        // Nobody would take it.
        if !flow.over && !flow.shut && !data.is_empty() {
            flow.came.push_back(data);
        }
        self.changed.notify_all();
        Ok(())
    }

    /// No more data comes.
    pub fn shut(&self) {
        self.lock().shut = true;
        self.changed.notify_all();
    }

    /// Waits for data. `None` if no more comes.
    pub fn take(&self) -> Option<Vec<u8>> {
        let mut flow = self.lock();
        loop {
            if flow.over {
                return None;
            }
            if let Some(data) = flow.came.pop_front() {
                return Some(data);
            }
            if flow.shut {
                return None;
            }
            flow = self.wait(flow);
        }
    }

    /// Data that was taken has been used, so that more may come.
    pub fn used(&self, bytes: usize) -> Result<(), Over> {
        {
            let mut flow = self.lock();
            flow.came_bytes = flow.came_bytes.saturating_sub(bytes);
        }
        self.put(Kind::Room, bytes.to_string().as_bytes())
    }

    /// Ends the stream for both sides.
    pub fn end(&self, failed: Option<FarFailure>) {
        let why = failed.map(|error| serde_json::to_vec(&StreamEnd { error }));
        let why = why.and_then(Result::ok).unwrap_or_default();
        if !self.cancel() {
            return;
        }
        let _ = self
            .wire
            .outbox
            .put(&Frame::new(self.number, Kind::End, why));
        self.wire.streams().remove(&self.number);
    }

    /// The other side has ended the stream.
    pub fn ended(&self) {
        self.cancel();
        self.wire.streams().remove(&self.number);
    }

    /// Does this when the stream is over, or now if it is.
    pub fn at_end(&self, act: impl FnOnce() + Send + 'static) {
        let mut flow = self.lock();
        match flow.over {
            false => flow.at_end = Some(AtEnd(Box::new(act))),
            true => {
                drop(flow);
                act();
            }
        }
    }

    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Returns whether it was not over before.
    fn cancel(&self) -> bool {
        let mut flow = self.lock();
        let was_over = std::mem::replace(&mut flow.over, true);
        let act = flow.at_end.take();
        drop(flow);
        self.changed.notify_all();
        if let Some(AtEnd(act)) = act {
            act();
        }
        !was_over
    }

    fn put(&self, kind: Kind, payload: &[u8]) -> Result<(), Over> {
        match self.is_over() {
            true => Err(Over),
            false => self
                .wire
                .outbox
                .put(&Frame::new(self.number, kind, payload)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, flow: MutexGuard<'a, Flow>) -> MutexGuard<'a, Flow> {
        let flow = self.changed.wait(flow);
        flow.unwrap_or_else(PoisonError::into_inner)
    }
}
