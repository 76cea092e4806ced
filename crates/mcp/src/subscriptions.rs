//! Tells user interfaces that an output has grown: `resources/subscribe`, and `subscriptions/listen`
//! since 2026-07-28. This wakes no agent.

use crate::reply::Refused;
use crate::resources;
use crate::server::Server;
use outlive::{Grown, Growth, JobId, Outlive};
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The time between two notifications about one output. Later growth is reported by the next one.
const SPACING: Duration = Duration::from_millis(250);
/// How often a follower checks whether anybody still listens.
const LOOK_UP: Duration = Duration::from_secs(5);

/// The subscriptions of one client with `resources/subscribe`. They end with the client's session.
#[derive(Debug, Default)]
pub struct Subscriptions {
    by_uri: Mutex<HashMap<String, CancellationToken>>,
}

impl Subscriptions {
    /// Returns a token that ends the subscription, or `None` if it exists already.
    pub fn begin(&self, uri: &str, closed: &CancellationToken) -> Option<CancellationToken> {
        let mut by_uri = self.by_uri.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = by_uri.get(uri).is_none_or(CancellationToken::is_cancelled);
        is_new.then(|| {
            let token = closed.child_token();
            by_uri.insert(uri.to_owned(), token.clone());
            token
        })
    }

    pub fn end(&self, uri: &str) {
        let mut by_uri = self.by_uri.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = by_uri.remove(uri) {
            token.cancel();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        let by_uri = self.by_uri.get_mut();
        let by_uri = by_uri.unwrap_or_else(PoisonError::into_inner);
        by_uri.values().for_each(CancellationToken::cancel);
    }
}

/// Sends the resource's address each time its output has grown, and once more when its job has ended.
pub fn follow(
    outlive: Outlive,
    id: JobId,
    uri: String,
    over: CancellationToken,
) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let _ = watch(&outlive, &id, &uri, &over, &sender);
    });
    receiver
}

fn watch(
    outlive: &Outlive,
    id: &JobId,
    uri: &str,
    over: &CancellationToken,
    sender: &mpsc::Sender<String>,
) -> Result<(), outlive::Error> {
    let size = outlive::verbs::show::show(outlive, id)?.output.bytes;
    let mut growth = Growth::after(outlive, id, size)?;
    while !over.is_cancelled() && !sender.is_closed() {
        let grown = growth.next_within(LOOK_UP)?;
        // If a notification is still waiting to be read, it covers this change too.
        if grown != Grown::NotYet {
            let _ = sender.try_send(uri.to_owned());
        }
        if grown == Grown::Ended {
            return Ok(());
        }
        if grown == Grown::More {
            std::thread::sleep(SPACING);
        }
    }
    Ok(())
}

/// Keeps the addresses that are outputs of our jobs.
pub fn ours(uris: &[String]) -> Vec<String> {
    let is_ours = |uri: &&String| resources::job_of(uri).is_some();
    uris.iter().filter(is_ours).cloned().collect()
}

impl Server {
    /// The job of a resource, and the home on behalf of the caller.
    async fn resource(
        &self,
        context: &RequestContext<RoleServer>,
        uri: &str,
    ) -> Result<(Outlive, JobId), ErrorData> {
        let uri = uri.to_owned();
        self.look(context, move |call| {
            let id = resources::job_of(&uri).ok_or_else(|| Refused::no_such_job(&uri))?;
            Ok((call.outlive.clone(), call.find(id)?))
        })
        .await
    }

    /// Notifies a listener until it disconnects.
    pub(crate) async fn tell_listener(&self, context: SubscriptionContext) {
        let uris = context.accepted().resource_subscriptions.clone();
        let request = context.request_context();
        let over = request.ct.child_token();
        let mut followed = JoinSet::new();
        for uri in uris.unwrap_or_default() {
            // A resource that is no job of this session never changes.
            let Ok((outlive, id)) = self.resource(request, &uri).await else {
                continue;
            };
            let mut news = follow(outlive, id, uri, over.clone());
            let sink = context.sink().clone();
            followed.spawn(async move {
                while let Some(uri) = news.recv().await {
                    if sink.notify_resource_updated(uri).await.is_err() {
                        return;
                    }
                }
            });
        }
        tokio::select! {
            () = context.cancelled() => {}
            () = self.closed.cancelled() => {}
        }
        over.cancel();
    }

    /// Notifies a client of the older revisions, between its other messages.
    pub(crate) async fn tell_subscriber(
        &self,
        uri: String,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (outlive, id) = self.resource(&context, &uri).await?;
        let Some(over) = self.subscriptions.begin(&uri, &self.closed) else {
            return Ok(());
        };
        let mut news = follow(outlive, id, uri, over.clone());
        let peer = context.peer;
        tokio::spawn(async move {
            let tell = async {
                while let Some(uri) = news.recv().await {
                    let param = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(param).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = tell => over.cancel(),
            }
        });
        Ok(())
    }
}
