//! The routes, and what all requests share.

use crate::failure::Refused;
use crate::hub::Hub;
use crate::metrics::Metrics;
use crate::tickets::Tickets;
use crate::{events, log, metrics, openapi, output, page, stream, verbs, visit, window};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::HeaderName;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use outlive::Outlive;
use outlive_api::failure::ErrorCode;
use outlive_guard::{Door, Guard, Pages, Token, Visitor};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many requests may wait for jobs at once, each on a thread. Later ones wait for their turn.
const MAX_WAITS: usize = 64;

/// How many answers may be written as they come, each by a thread.
const MAX_STREAMS: usize = 128;

/// Where to serve, and for whom.
#[derive(Clone, Debug)]
pub struct Http {
    pub address: SocketAddr,
    /// Host names that requests may use, in addition to numbers and those of loopback.
    pub hosts: Vec<String>,
    /// The token of the owner.
    pub owner: String,
    /// The token of those who may look.
    pub reader: String,
    /// Opens the page once, for a browser that is started with it.
    pub ticket: Option<String>,
}

/// What a client needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    pub address: SocketAddr,
}

/// What all requests share. Nothing in it is kept.
#[derive(Debug)]
pub struct Desk {
    /// The home, for a caller that only looks.
    pub outlive: Outlive,
    /// The home, for what is recorded: acks, and the ends of sessions.
    pub recording: Outlive,
    pub guard: Guard,
    /// The name of the cookie. Browsers send the cookies of one port to all ports of a host.
    pub cookie: String,
    pub waits: Arc<Semaphore>,
    pub streams: Arc<Semaphore>,
    pub metrics: Metrics,
    pub hub: Hub,
    pub tickets: Tickets,
}

/// Serves until the process is killed. Reports when it listens. `mount` makes routes that stand beside these, behind
/// the same guard.
pub fn serve(
    outlive: Outlive,
    http: &Http,
    mount: impl FnOnce(Guard) -> io::Result<Router>,
    begun: impl FnOnce(&Listening) -> io::Result<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let door = Door::at(http.address).await?;
        let address = door.address()?;
        let cookie = format!("outlive-{}", address.port());
        let owner = Token::new(&*http.owner);
        let guard = Guard::new(owner.clone(), Pages::Own)
            .with_reader(Token::new(&*http.reader))
            .with_cookie(&*cookie)
            .known_as(http.hosts.iter().cloned());
        let mounted = mount(guard.clone().without_cookie(Pages::OfThisMachine))?;
        let desk = Arc::new(Desk {
            metrics: Metrics::default(),
            hub: Hub::start(&outlive).map_err(io::Error::other)?,
            tickets: Tickets::new(owner, http.ticket.as_deref().map(Token::new)),
            recording: outlive.clone(),
            outlive: outlive.only_looking(),
            guard,
            cookie,
            waits: Arc::new(Semaphore::new(MAX_WAITS)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        });
        let service = routes(desk).merge(mounted);
        begun(&Listening { address })?;
        let service = service.into_make_service_with_connect_info::<Visitor>();
        axum::serve(door, service).await
    })
}

fn routes(desk: Arc<Desk>) -> Router {
    let guarded = verbs::routes()
        .route("/v1/log", axum::routing::post(log::log))
        .route("/v1/jobs/{job}/output", get(output::output))
        .route("/v1/jobs/{job}/lines", get(window::lines))
        .route("/v1/login", get(page::whoami))
        .route("/v1/events", get(events::events))
        .route("/v1/stream", get(stream::stream))
        .route("/v1/search", axum::routing::post(window::search))
        .route("/metrics", get(metrics::metrics))
        .route_layer(middleware::from_fn_with_state(desk.clone(), visit::admit));
    let open = page::routes().route("/v1/openapi.json", get(openapi::served));
    guarded
        .merge(open)
        .fallback(async || no_such_route())
        .method_not_allowed_fallback(async || {
            no_such_route().with_status(StatusCode::METHOD_NOT_ALLOWED)
        })
        .layer(middleware::from_fn(harden))
        .with_state(desk)
}

fn no_such_route() -> Refused {
    let refused = Refused::new(ErrorCode::NoSuchRoute, "there is nothing at this address");
    refused.with_hint("/v1/openapi.json lists what there is")
}

/// What a browser must know of every answer.
const HEADERS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    // Answers contain output, and a proxy or the disk is no place for it.
    ("cache-control", "no-store"),
];

/// The policy for everything that is not the page: it runs and loads nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let all = HEADERS
        .into_iter()
        .chain([("content-security-policy", NOTHING)]);
    for (name, value) in all {
        let name = HeaderName::from_static(name);
        headers
            .entry(name)
            .or_insert(axum::http::HeaderValue::from_static(value));
    }
    response
}

/// Runs something on a thread that may block, and says it if that thread panicked.
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Refused::new(ErrorCode::Failed, error.to_string()))?
}

/// JSON as an answer.
pub fn json(bytes: Vec<u8>) -> Response {
    let kind = [(axum::http::header::CONTENT_TYPE, crate::failure::JSON)];
    (kind, Body::from(bytes)).into_response()
}
