//! One verb per file: what it takes, what it answers, and its call. All of them are called in the same way:
//! `POST /v1/VERB` with the request of the contract, answered by the reply of the contract.

mod ack;
mod adopt;
mod doctor;
mod inbox;
mod label;
mod list;
mod place;
mod post;
mod prune;
mod resize;
mod run;
mod send;
mod session;
mod show;
mod signal;
mod stop;
mod wait;
mod watch;

use crate::body;
use crate::failure::Refused;
use crate::server::{Desk, json, on_a_thread};
use crate::visit::Visit;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use outlive::verbs::list as find;
use outlive::{JobId, Outlive, Selector};
use outlive_api::failure::ErrorCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a verb may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// It only looks, so every token allows it.
    Look,
    /// It looks, and may wait for a job as long as its caller does.
    LookAndWait,
    /// It changes something: only the owner may call it.
    Owner,
}

/// A call of a verb.
#[derive(Clone, Debug)]
pub struct Call {
    pub visit: Visit,
    /// The home, for what is recorded.
    pub recording: Outlive,
    /// Set when the caller has gone. Nobody reads the answer then.
    pub gone: CancellationToken,
}

/// One verb.
pub trait Verb: 'static {
    type Request: DeserializeOwned + JsonSchema + Send;
    type Reply: Serialize + JsonSchema;
    /// The words of the command line, with slashes between them.
    const NAME: &'static str;
    /// What it does, in a sentence.
    const ABOUT: &'static str;
    const NEEDS: Needs;

    fn call(call: &Call, asked: Self::Request) -> Result<Self::Reply, Refused>;
}

/// Calls `each` with every verb.
pub fn each(visitor: &mut impl VerbVisitor) {
    visitor.verb::<run::Run>();
    visitor.verb::<adopt::Adopt>();
    visitor.verb::<list::List>();
    visitor.verb::<show::Show>();
    visitor.verb::<wait::Wait>();
    visitor.verb::<watch::Watch>();
    visitor.verb::<label::Label>();
    visitor.verb::<stop::Stop>();
    visitor.verb::<signal::Signal>();
    visitor.verb::<send::Send>();
    visitor.verb::<resize::Resize>();
    visitor.verb::<inbox::Inbox>();
    visitor.verb::<ack::Ack>();
    visitor.verb::<post::Post>();
    visitor.verb::<session::End>();
    visitor.verb::<prune::Prune>();
    visitor.verb::<place::List>();
    visitor.verb::<place::Check>();
    visitor.verb::<place::Add>();
    visitor.verb::<place::Remove>();
    visitor.verb::<place::Clean>();
    visitor.verb::<doctor::Doctor>();
}

/// Something that is done with every verb.
pub trait VerbVisitor {
    fn verb<V: Verb>(&mut self);
}

struct Routes(Router<Arc<Desk>>);

impl VerbVisitor for Routes {
    fn verb<V: Verb>(&mut self) {
        let routes = std::mem::take(&mut self.0);
        self.0 = routes.route(&path(V::NAME), post(serve::<V>));
    }
}

pub fn routes() -> Router<Arc<Desk>> {
    let mut routes = Routes(Router::new());
    each(&mut routes);
    routes.0
}

pub fn path(name: &str) -> String {
    format!("/v1/{name}")
}

async fn serve<V: Verb>(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    request: Request,
) -> Result<Response, Refused> {
    if V::NEEDS == Needs::Owner {
        visit.must_be_owner()?;
    }
    let (head, body) = request.into_parts();
    let asked: V::Request = body::read(&head.headers, body).await?;
    let gone = CancellationToken::new();
    let call = Call {
        recording: recording(&desk, &visit),
        visit,
        gone: gone.clone(),
    };
    // This function is dropped when the caller goes.
    let _guard = gone.drop_guard();
    let turn = match V::NEEDS {
        Needs::LookAndWait => desk.waits.clone().acquire_owned().await.ok(),
        Needs::Look | Needs::Owner => None,
    };
    let reply = on_a_thread(move || {
        let _turn = turn;
        let reply = V::call(&call, asked)?;
        serde_json::to_vec(&reply)
            .map_err(|error| Refused::new(ErrorCode::Failed, error.to_string()))
    });
    reply.await.map(json)
}

fn recording(desk: &Desk, visit: &Visit) -> Outlive {
    match visit.must_be_owner() {
        Ok(()) => desk.recording.clone(),
        Err(_) => desk.outlive.clone(),
    }
}

/// The jobs that a request names or selects.
fn jobs(visit: &Visit, named: &[JobId], select: Option<&Selector>) -> Result<Vec<JobId>, Refused> {
    let mut ids = visit.find_all(named)?;
    if let Some(select) = select {
        ids.extend(find::running(&visit.outlive, select)?);
    }
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

/// The same, for a verb that does something with each of them.
fn some_jobs(
    visit: &Visit,
    named: &[JobId],
    select: Option<&Selector>,
) -> Result<Vec<JobId>, Refused> {
    if named.is_empty() && select.is_none() {
        return Err(Refused::bad_input(
            "name the jobs in \"jobs\", or select them with \"select\"",
        ));
    }
    jobs(visit, named, select)
}
