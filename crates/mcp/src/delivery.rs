//! What is noted once a reply is out.
//!
//! A reply may tell of ends and other events. That they were told is noted when the reply has been
//! written to the client, and not before: killed in between, the session is told again.

use outlive::{Error, Outlive};
use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// One thing to note.
pub type Note = Box<dyn FnOnce(&Outlive) -> Result<(), Error> + Send>;

/// What is to be noted about one reply, on behalf of whoever called.
pub struct Delivery {
    pub outlive: Outlive,
    pub notes: Vec<Note>,
}

impl Delivery {
    /// Notes all of it. What cannot be written down is told again: no reason to fail what was asked.
    pub fn note(self) {
        for note in self.notes {
            let _ = note(&self.outlive);
        }
    }
}

/// The replies that are on their way, by the request that each answers.
#[derive(Clone, Default)]
pub struct Deliveries(Arc<Mutex<HashMap<RequestId, Delivery>>>);

impl fmt::Debug for Deliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deliveries").finish_non_exhaustive()
    }
}

impl Deliveries {
    pub fn add(&self, id: RequestId, delivery: Delivery) {
        if !delivery.notes.is_empty() {
            let mut underway = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            underway.insert(id, delivery);
        }
    }

    fn take(&self, id: &RequestId) -> Option<Delivery> {
        let mut underway = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        underway.remove(id)
    }
}

/// A transport that knows which of its messages are out, and tells when the client has gone.
pub struct Noting<T> {
    pub inner: T,
    pub deliveries: Deliveries,
    pub closed: CancellationToken,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Noting<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let delivery = match &item {
            JsonRpcMessage::Response(response) => self.deliveries.take(&response.id),
            _ => None,
        };
        let sent = self.inner.send(item);
        async move {
            sent.await?;
            if let Some(delivery) = delivery {
                // It only fails if the server is being shut down; then it is told again.
                let _ = tokio::task::spawn_blocking(move || delivery.note()).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.closed.cancel();
        }
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}
