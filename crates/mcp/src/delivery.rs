//! What is noted once a reply is out.
//!
//! A reply may tell of ends and other events. That they were told is noted when the reply has been
//! written to the client, and not before: killed in between, the session is told again.

use outlive::Error;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// One thing to note once a reply is out.
pub type Note = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// Notes all of it. What cannot be written down is told again: no reason to fail what was asked.
fn note_all(notes: Vec<Note>) {
    for note in notes {
        let _ = note();
    }
}

/// The replies that are on their way.
#[derive(Clone, Default)]
pub struct Deliveries {
    /// Those that are made, by the request that each answers.
    made: Arc<Mutex<HashMap<RequestId, Vec<Note>>>>,
    /// How many are being written or noted.
    underway: Arc<watch::Sender<usize>>,
}

/// One that is being written or noted, as long as this is there.
struct Underway(Arc<watch::Sender<usize>>);

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl fmt::Debug for Deliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliveries").finish_non_exhaustive()
    }
}

impl Deliveries {
    pub fn add(&self, id: RequestId, notes: Vec<Note>) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // One of the same id was cancelled, and never written.
        made.insert(id, notes);
    }

    /// Waits until what replies told has been noted: a client that answers one at once is not to be told
    /// the same again.
    pub async fn noted(&self) {
        /// A client that does not read its replies is not waited for.
        const LONGEST: Duration = Duration::from_secs(1);
        let mut underway = self.underway.subscribe();
        let _ = tokio::time::timeout(LONGEST, underway.wait_for(|count| *count == 0)).await;
    }

    fn take(&self, id: &RequestId) -> Option<Begun> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.remove(id).map(|notes| self.begin(notes))
    }

    /// It is being written from now on.
    pub fn begin(&self, notes: Vec<Note>) -> Begun {
        self.underway.send_modify(|count| *count += 1);
        Begun {
            notes,
            underway: Underway(self.underway.clone()),
        }
    }
}

/// A reply that is being written. Dropped before it is [`Begun::done`], it never arrived.
pub struct Begun {
    notes: Vec<Note>,
    underway: Underway,
}

impl Begun {
    /// It is out.
    pub async fn done(self) {
        let Begun { notes, underway } = self;
        // It only fails if the server is being shut down; then all is told again.
        let _ = tokio::task::spawn_blocking(move || note_all(notes)).await;
        drop(underway);
    }
}

/// A line that was no message.
#[derive(Debug)]
pub struct Garbage {
    pub id: Option<RequestId>,
}

/// A transport that knows which of its messages are out, answers what was no message, and tells when the
/// client has gone.
pub struct Noting<T> {
    pub inner: T,
    /// One for each that was none.
    pub garbage: mpsc::Receiver<Garbage>,
    pub deliveries: Deliveries,
    pub closed: CancellationToken,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Noting<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let begun = match &item {
            JsonRpcMessage::Response(response) => self.deliveries.take(&response.id),
            _ => None,
        };
        let sent = self.inner.send(item);
        async move {
            sent.await?;
            if let Some(begun) = begun {
                begun.done().await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                biased;
                Some(garbage) = self.garbage.recv() => Err(garbage),
                message = self.inner.receive() => Ok(message),
            };
            let message = match message {
                Ok(message) => message,
                Err(garbage) => {
                    // Without an id where none can be read, as the protocol has it.
                    let why = "not valid JSON (is every string valid UTF-8, without half of a surrogate pair?)";
                    let why = ErrorData::parse_error(why, None);
                    let _ = self
                        .inner
                        .send(JsonRpcMessage::error(why, garbage.id))
                        .await;
                    continue;
                }
            };
            if message.is_none() {
                self.closed.cancel();
            }
            return message;
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}
