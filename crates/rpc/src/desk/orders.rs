//! What other threads tell the desk.

use super::Key;
use super::stream::{Continues, Stream, Turn};
use outlive::listening::{Connection, Waker, Wanted};
use outlive::{Error, JobId};
use outlive_api::rpc::RequestId;
use std::sync::{Mutex, PoisonError};

/// Something to do for the desk.
#[derive(Debug)]
pub enum Order {
    Begin(Stream),
    /// Some requests were cancelled.
    Swept,
    /// Parts of this request were taken.
    Resume(RequestId),
    /// A stream comes back from another thread.
    Turned(Key, Box<dyn Continues>, Turn),
    /// The connection to a keeper at a place, or why there is none.
    Connected(JobId, Wanted, Result<Option<Connection>, Error>),
    Leave,
}

/// What the desk has to do.
#[derive(Debug)]
pub struct Orders {
    given: Mutex<Vec<Order>>,
    waker: Waker,
}

impl Orders {
    pub(super) fn new(waker: Waker) -> Orders {
        Orders {
            given: Mutex::default(),
            waker,
        }
    }

    pub(super) fn give(&self, order: Order) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.push(order);
        drop(given);
        self.waker.wake();
    }

    pub(super) fn take(&self) -> Vec<Order> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut given)
    }

    pub fn begin(&self, stream: Stream) {
        self.give(Order::Begin(stream));
    }

    /// A request was cancelled.
    pub fn sweep(&self) {
        self.give(Order::Swept);
    }

    /// A request may send more parts.
    pub fn resume(&self, id: RequestId) {
        self.give(Order::Resume(id));
    }

    /// Everything that is followed ends.
    pub fn leave(&self) {
        self.give(Order::Leave);
    }
}
