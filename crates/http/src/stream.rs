//! `GET /v1/stream`: one WebSocket for everything that a page follows, and for what is typed into jobs.
//!
//! ```text
//!   page ─ follow, taken, type ─► session ─┬─► one task per subscription ─┐
//!        ◄─ parts ─────────────────────────┴──────────────────────────────┘ as much as the page has taken
//! ```
//!
//! A subscription sends parts until its window is full, and goes on when the page says how much it has taken. Until then
//! nothing is read for it, so a slow page neither slows a job nor fills the memory. An output goes on from a byte; the
//! others show the state as it is now, so that after a break nothing is missing and nothing comes twice.

mod flow;
mod jobs;
mod message;
mod output;
mod samples;
mod screen;
mod tail;
mod typing;

use crate::failure::Refused;
use crate::server::Desk;
use crate::visit::Visit;
use crate::websocket::{self, Message, Sender};
use axum::extract::{Request, State};
use axum::response::Response;
use flow::Flow;
use message::{Answer, Ask, Follow, What};
use outlive_api::failure::ErrorCode;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use typing::Typing;

/// The most subscriptions of one page.
const MAX_SUBSCRIPTIONS: usize = 1024;

pub async fn stream(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    request: Request,
) -> Result<Response, Refused> {
    let (mut head, _) = request.into_parts();
    let (response, upgrade) = websocket::accept(&mut head)?;
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            let (sender, receiver) = websocket::split(upgraded);
            Session::new(desk, visit, sender).run(receiver).await;
        }
    });
    Ok(response)
}

/// One page that is connected.
struct Session {
    desk: Arc<Desk>,
    visit: Visit,
    sender: Sender,
    typing: Typing,
    subscriptions: HashMap<u32, Subscription>,
}

/// Ends when it is dropped.
struct Subscription {
    taken: watch::Sender<u64>,
    task: AbortHandle,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Session {
    fn new(desk: Arc<Desk>, visit: Visit, sender: Sender) -> Session {
        Session {
            typing: Typing::start(visit.clone(), sender.clone()),
            subscriptions: HashMap::new(),
            desk,
            visit,
            sender,
        }
    }

    /// Serves until the page goes.
    async fn run(mut self, mut receiver: websocket::Receiver) {
        while let Some(message) = receiver.next().await {
            let Message::Text(text) = message else {
                return self.sender.close(websocket::Closed::UNSUPPORTED).await;
            };
            let done = match serde_json::from_str(&text) {
                Ok(ask) => self.take(ask).await,
                Err(error) => {
                    let refused =
                        Refused::bad_input(format!("the message cannot be used: {error}"));
                    self.answer(&Answer::refused(None, None, refused)).await
                }
            };
            if done.is_err() {
                return;
            }
        }
    }

    async fn take(&mut self, ask: Ask) -> Result<(), websocket::Gone> {
        match ask {
            Ask::Follow(follow) => {
                let sub = follow.sub;
                match self.follow(follow) {
                    Ok(()) => Ok(()),
                    Err(refused) => {
                        self.answer(&Answer::refused(Some(sub), None, refused))
                            .await
                    }
                }
            }
            Ask::End { sub } => {
                self.subscriptions.remove(&sub);
                Ok(())
            }
            Ask::Taken { sub, sent } => {
                if let Some(subscription) = self.subscriptions.get(&sub) {
                    // The page may only take what was sent, and never gives back.
                    subscription.taken.send_if_modified(|taken| {
                        let is_more = sent > *taken;
                        *taken = sent.max(*taken);
                        is_more
                    });
                }
                Ok(())
            }
            Ask::Type(input) => self.typing.add(input).await,
        }
    }

    fn follow(&mut self, follow: Follow) -> Result<(), Refused> {
        self.subscriptions
            .retain(|_, known| !known.task.is_finished());
        if self.subscriptions.contains_key(&follow.sub) {
            return Err(Refused::bad_input(
                "this number is used by another subscription",
            ));
        }
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(Refused::new(
                ErrorCode::Refused,
                "these are too many subscriptions",
            ));
        }
        let (taken, given) = watch::channel(0);
        let flow = Flow::new(follow.sub, follow.window, self.sender.clone(), given);
        let (desk, visit) = (self.desk.clone(), self.visit.clone());
        let (sender, sub) = (self.sender.clone(), follow.sub);
        let task = tokio::spawn(async move {
            let ended = run(desk, visit, follow.what, flow).await;
            let answer = match ended {
                Ok(()) => Answer::end(sub),
                Err(Cut::Refused(refused)) => Answer::refused(Some(sub), None, *refused),
                Err(Cut::Gone) => return,
            };
            if let Some(text) = answer.text() {
                let _ = sender.send(Message::Text(text)).await;
            }
        });
        let task = task.abort_handle();
        self.subscriptions.insert(sub, Subscription { taken, task });
        Ok(())
    }

    async fn answer(&self, answer: &Answer) -> Result<(), websocket::Gone> {
        match answer.text() {
            Some(text) => self.sender.send(Message::Text(text)).await,
            None => Ok(()),
        }
    }
}

/// Why a subscription ended before its end.
#[derive(Debug)]
enum Cut {
    Gone,
    Refused(Box<Refused>),
}

impl From<Refused> for Cut {
    fn from(refused: Refused) -> Cut {
        Cut::Refused(Box::new(refused))
    }
}

impl From<outlive::Error> for Cut {
    fn from(error: outlive::Error) -> Cut {
        Refused::from(error).into()
    }
}

impl From<websocket::Gone> for Cut {
    fn from(_: websocket::Gone) -> Cut {
        Cut::Gone
    }
}

/// Runs a subscription to its end.
async fn run(desk: Arc<Desk>, visit: Visit, what: What, flow: Flow) -> Result<(), Cut> {
    match what {
        What::Jobs(asked) => jobs::follow(&desk, visit, asked, flow).await,
        What::Events(asked) => jobs::events(&desk, visit, asked, flow).await,
        What::Output(asked) => output::follow(&desk, visit, asked, flow).await,
        What::Tail(asked) => tail::follow(&desk, visit, asked, flow).await,
        What::Screen(asked) => screen::follow(&desk, visit, asked, flow).await,
        What::Samples(asked) => samples::follow(visit, asked, flow).await,
    }
}
