//! Telling user interfaces that an output has grown: `resources/subscribe`, and `subscriptions/listen`
//! since 2026-07-28. No agent is woken by these.

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

/// Between two notices of one output: what comes meanwhile is told by the next.
const SPACING: Duration = Duration::from_millis(250);
/// Whoever follows looks up so often whether anybody still listens.
const LOOK_UP: Duration = Duration::from_secs(5);

/// What one client has subscribed to by `resources/subscribe`; it ends with the client's session.
#[derive(Debug, Default)]
pub struct Subscriptions {
    by_uri: Mutex<HashMap<String, CancellationToken>>,
}

impl Subscriptions {
    /// A token that ends the subscription; `None` if there is one already.
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
        // One that has not been taken yet tells of this as well.
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

/// Which of these are outputs of ours.
pub fn ours(uris: &[String]) -> Vec<String> {
    let is_ours = |uri: &&String| resources::job_of(uri).is_some();
    uris.iter().filter(is_ours).cloned().collect()
}

impl Server {
    /// The job whose output a resource is, and the home on behalf of who asks.
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

    /// Tells who listens, until nobody does.
    pub(crate) async fn tell_listener(&self, context: SubscriptionContext) {
        let uris = context.accepted().resource_subscriptions.clone();
        let request = context.request_context();
        let over = request.ct.child_token();
        let mut followed = JoinSet::new();
        for uri in uris.unwrap_or_default() {
            // One that is no job of this session never changes.
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

    /// Tells a client of the older revisions, beside what else it asks.
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
