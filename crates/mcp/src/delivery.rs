//! Records what a reply told, after the reply has been written.
//!
//! A reply may report ends and other events. They are recorded as told only after the reply has been
//! written to the client. If the server is killed before that, the session is told again.
//!
//! An agent that is killed at that moment has not passed the reply on to its model, nor saved it. So a reply
//! over stdio counts as read only when the agent has lived on for [`READ`] (see [`Reader`]).

use outlive::Error;
use outlive::agent::{self, AgentProcess};
use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// One thing to record after a reply is written.
pub enum Note {
    /// The session has got something, which need not mean that it was told. Recorded at once.
    Seen(Record),
    /// The session is told something, and nothing else will show whether it has read it. Recorded when the reply has been read.
    Told(Record),
}

type Record = Box<dyn FnOnce() -> Result<(), Error> + Send>;

impl Note {
    pub fn told(record: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Note {
        Note::Told(Box::new(record))
    }

    /// The same, recorded when the reply is written.
    #[must_use]
    pub fn at_once(self) -> Note {
        let (Note::Seen(record) | Note::Told(record)) = self;
        Note::Seen(record)
    }
}

/// Records everything. If that fails, the session is told again; the request itself still succeeds.
async fn note_all(notes: Vec<Note>) {
    let note = || {
        for note in notes {
            let (Note::Seen(record) | Note::Told(record)) = note;
            let _ = record();
        }
    };
    // This fails only while the server shuts down. Then everything is told again.
    let _ = tokio::task::spawn_blocking(note).await;
}

/// What to record, by the request. Each reply has a number of its own, because a client may use the id of
/// a cancelled request again.
type Made = HashMap<RequestId, (u64, Vec<Note>)>;

/// The replies that are on their way.
#[derive(Clone, Default)]
pub struct Deliveries {
    /// The finished replies that are not being written yet.
    made: Arc<Mutex<Made>>,
    next_number: Arc<AtomicU64>,
    /// The number of replies that are being written or recorded.
    underway: Arc<watch::Sender<usize>>,
    /// The number of replies that are written and may not have been read.
    unread: Arc<watch::Sender<usize>>,
}

/// How long after its reply an agent must live for the reply to count as read. Agents send it to their model
/// and save it within a fraction of that.
const READ: Duration = Duration::from_secs(1);

/// Who reads the replies.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The agent that started this server.
    pub agent: Option<AgentProcess>,
    /// Cancelled when it has closed its end.
    pub closed: CancellationToken,
}

impl Reader {
    /// Returns whether the agent has read a reply that was written just now.
    async fn has_read(&self) -> bool {
        tokio::select! {
            () = self.closed.cancelled() => self.closed_in_order(),
            () = tokio::time::sleep(READ) => true,
        }
    }

    /// Whether the agent closed its end and lives on, so it was not killed.
    fn closed_in_order(&self) -> bool {
        self.agent.as_ref().is_none_or(agent::is_well)
    }
}

/// One reply that is counted for as long as this value exists.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn among(count: &Arc<watch::Sender<usize>>) -> Counted {
        count.send_modify(|count| *count += 1);
        Counted(count.clone())
    }
}

impl Drop for Counted {
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
    /// Keeps what to record until the reply is written. A cancelled request gets no reply: then it is
    /// dropped, because what a reply reserves is told by nobody else meanwhile. `over` is cancelled in
    /// both cases: when the client cancels the request, and just before its reply is written.
    pub fn add(&self, id: RequestId, notes: Vec<Note>, over: CancellationToken) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        self.made().insert(id.clone(), (number, notes));
        let deliveries = self.clone();
        tokio::spawn(async move {
            over.cancelled().await;
            deliveries.forget(&id, number);
        });
    }

    fn forget(&self, id: &RequestId, number: u64) {
        let mut made = self.made();
        let is_this = made.get(id).is_some_and(|(known, _)| *known == number);
        let forgotten = is_this.then(|| made.remove(id));
        // What the notes hold is released without the lock.
        drop(made);
        drop(forgotten);
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything that earlier replies told is recorded. A client that answers a reply at
    /// once must not be told the same again.
    pub async fn noted(&self) {
        none_is_left(&self.underway).await;
    }

    /// Waits until it is recorded which replies were read before the agent closed its end.
    pub async fn settled(&self) {
        none_is_left(&self.unread).await;
    }

    fn take(&self, id: &RequestId) -> Option<ReplyInProgress> {
        let (_, notes) = self.made().remove(id)?;
        Some(self.begin(notes))
    }

    /// The reply is being written from now on.
    pub fn begin(&self, notes: Vec<Note>) -> ReplyInProgress {
        ReplyInProgress {
            notes,
            underway: Counted::among(&self.underway),
        }
    }

    /// The reply has been written. Records what it told when the agent has read it. Until then nobody else
    /// tells the same: the events are claimed or reserved.
    async fn written(&self, reply: ReplyInProgress, reader: Reader) {
        let ReplyInProgress { notes, underway } = reply;
        let is_seen = |note: &Note| matches!(note, Note::Seen(_));
        let (seen, told): (Vec<Note>, Vec<Note>) = notes.into_iter().partition(is_seen);
        note_all(seen).await;
        let unread = Counted::among(&self.unread);
        drop(underway);
        tokio::spawn(async move {
            if reader.has_read().await {
                note_all(told).await;
            }
            drop(unread);
        });
    }
}

/// Waits until the count is zero.
async fn none_is_left(count: &watch::Sender<usize>) {
    /// Do not wait longer for a client that does not read its replies.
    const MAX_WAIT: Duration = Duration::from_secs(1);
    let mut count = count.subscribe();
    let _ = tokio::time::timeout(MAX_WAIT, count.wait_for(|count| *count == 0)).await;
}

/// A reply that is being written. If it is dropped before [`ReplyInProgress::done`], it did not arrive.
pub struct ReplyInProgress {
    notes: Vec<Note>,
    underway: Counted,
}

impl ReplyInProgress {
    /// The reply has been written.
    pub async fn done(self) {
        let ReplyInProgress { notes, underway } = self;
        note_all(notes).await;
        drop(underway);
    }
}

/// A transport that knows which messages have been written, and reports when the client has gone.
pub struct Noting<T> {
    pub inner: T,
    pub deliveries: Deliveries,
    pub reader: Reader,
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
        let (deliveries, reader) = (self.deliveries.clone(), self.reader.clone());
        async move {
            sent.await?;
            if let Some(begun) = begun {
                deliveries.written(begun, reader).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.reader.closed.cancel();
        }
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The client cancels a call at the moment of its reply, so that the reply is never written.
    #[test]
    fn what_a_cancelled_reply_reserves_is_released() -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(async {
            let (deliveries, over) = (Deliveries::default(), CancellationToken::new());
            let reserved = Arc::new(());
            let note = |reserved: &Arc<()>| -> Note {
                let reserved = reserved.clone();
                Note::told(move || {
                    drop(reserved);
                    Ok(())
                })
            };
            let id = RequestId::Number(1);
            deliveries.add(id.clone(), vec![note(&reserved)], over.clone());
            tokio::task::yield_now().await;
            assert_eq!(
                Arc::strong_count(&reserved),
                2,
                "the reply may still be written"
            );
            // The next request has the same id.
            let (later, next) = (Arc::new(()), CancellationToken::new());
            over.cancel();
            deliveries.add(id.clone(), vec![note(&later)], next.clone());
            while Arc::strong_count(&reserved) > 1 {
                tokio::task::yield_now().await;
            }
            assert_eq!(Arc::strong_count(&later), 2, "another request");
            let begun = deliveries.take(&id);
            assert!(begun.is_some_and(|begun| begun.notes.len() == 1));
        });
        Ok(())
    }
}
