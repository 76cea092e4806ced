//! `GET /v1/events`: what sessions have not been told, as it comes, one server-sent event each. It only looks.

use crate::body::{AsyncWriter, piped};
use crate::failure::Refused;
use crate::hub::{News, Watcher};
use crate::server::{Desk, on_a_thread};
use crate::visit::{Query, Visit};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use outlive::inbox::Event;
use outlive::listening::{Scope, Telling};
use outlive::{Label, clock};
use std::sync::Arc;
use std::time::Duration;

const KIND: &str = "text/event-stream";

/// Looks at the reader this often, so that a connection that is gone is noticed.
const STILL_THERE: Duration = Duration::from_secs(15);

/// The inboxes of some sessions, followed.
pub struct Inboxes {
    telling: Telling,
    watcher: Watcher,
}

impl Inboxes {
    /// Begins with what waits now.
    pub async fn open(desk: &Desk, visit: &Visit, scope: Scope) -> Result<Inboxes, Refused> {
        let watcher = desk.hub.watcher();
        // What comes from here on is heard.
        watcher.want_home();
        let outlive = visit.outlive.clone();
        let telling = on_a_thread(move || Ok(Telling::open(&outlive, scope, None)?)).await?;
        Ok(Inboxes { telling, watcher })
    }

    /// The next events. Each comes once.
    pub async fn next(mut self) -> Result<(Inboxes, Vec<Event>), Refused> {
        loop {
            let (telling, events) = on_a_thread(move || {
                let mut events = Vec::new();
                while let Some(delivery) = self.telling.take(usize::MAX)? {
                    events.extend(delivery.events().to_vec());
                }
                Ok((self.telling, events))
            })
            .await?;
            self.telling = telling;
            for id in self.telling.new_jobs() {
                self.listen(&id);
            }
            if !events.is_empty() {
                return Ok((self, events));
            }
            let News { jobs, rung } = self.sleep().await;
            for id in &jobs {
                self.telling.heard(id);
                self.listen(id);
            }
            if let Some(rung) = rung {
                self.telling.rung(&rung)?;
            }
        }
    }

    fn listen(&self, id: &outlive::JobId) {
        if let Some(wanted) = self.telling.wants(id) {
            self.watcher.want(id, wanted);
        }
    }

    async fn sleep(&self) -> News {
        match self.telling.look_at() {
            None => self.watcher.news().await,
            Some(at) => {
                let pause = at.since(clock::boot());
                let slept = tokio::time::timeout(pause, self.watcher.news()).await;
                slept.unwrap_or_default()
            }
        }
    }
}

pub async fn events(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    query: Query,
) -> Result<Response, Refused> {
    let inboxes = Inboxes::open(&desk, &visit, scope(&query)?).await?;
    let (writer, body) = piped();
    tokio::spawn(copy(inboxes, writer));
    Ok(([(CONTENT_TYPE, KIND)], body).into_response())
}

fn scope(query: &Query) -> Result<Scope, Refused> {
    let sessions = query.values("session");
    if sessions.is_empty() {
        return Ok(Scope::All);
    }
    let label = |text: &String| {
        let label = Label::parse(text);
        label.map_err(|reason| Refused::bad_input(format!("the session {text:?}: {reason}")))
    };
    Ok(Scope::Sessions(
        sessions.iter().map(label).collect::<Result<_, _>>()?,
    ))
}

async fn copy(mut inboxes: Inboxes, writer: AsyncWriter) {
    // A reader that has connected learns it at once.
    if writer.write(": connected\n\n").await.is_err() {
        return;
    }
    let mut next = Box::pin(inboxes.next());
    loop {
        let found = tokio::select! {
            found = &mut next => found,
            () = tokio::time::sleep(STILL_THERE) => {
                match writer.write(": still here\n\n").await {
                    Ok(()) => continue,
                    Err(_) => return,
                }
            }
            () = writer.gone() => return,
        };
        let Ok((rest, events)) = found else {
            return writer.cut().await;
        };
        inboxes = rest;
        for event in &events {
            let Ok(data) = serde_json::to_string(event) else {
                return;
            };
            let text = format!(
                "id: {}\nevent: {}\ndata: {data}\n\n",
                event.event,
                kind(event)
            );
            if writer.write(text).await.is_err() {
                return;
            }
        }
        next.set(inboxes.next());
    }
}

/// The kind as it is spelled in JSON.
fn kind(event: &Event) -> String {
    let kind = serde_json::to_value(event.kind).unwrap_or_default();
    kind.as_str().unwrap_or("unknown").to_owned()
}
