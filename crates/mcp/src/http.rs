//! Serves over streamable HTTP. Clients of 2026-07-28 send independent requests. Older clients have
//! sessions of the transport (`Mcp-Session-Id`), which deliver their subscriptions.
//!
//! Whoever can talk to this server can run commands: `outlive-guard` decides who may. By default only this machine is
//! accepted.
//!
//! What a reply told is recorded after its last byte was passed on. If the client has gone before that,
//! nothing is recorded. An older client that fetches a lost reply again may thus be told twice, with
//! the same event ids.
//!
//! The sessions of the transport are only in memory. They do not decide which agent's session a call
//! belongs to.

mod message;

use crate::delivery::{Deliveries, ReplyInProgress};
use crate::malformed::MAX_MESSAGE;
use crate::server::{Options, Server};
use crate::sessions::Sessions;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use outlive::Outlive;
use outlive_guard::{Door, Guard, Pages, Refusal, Rights, Visitor, make_token, read_token};
use rmcp::ServerHandler;
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The header that names a session.
const SESSION: &str = "outlive-session";

/// How long a transport session may be idle: a working day. After that it is created again when needed,
/// but its subscriptions are forgotten. A session that its client never ends uses about fifty kilobytes
/// until then.
const IDLE: Duration = Duration::from_secs(8 * 3600);

/// Where to serve, and for whom.
#[derive(Clone, Debug)]
pub struct Http {
    pub address: SocketAddr,
    /// The caller really wants an address that other machines can reach.
    pub allow_remote: bool,
    /// Host names that requests may use, in addition to its own address and those of loopback.
    pub hosts: Vec<String>,
    /// The file with the token, readable only by its owner. Without one, a token is generated.
    pub token_file: Option<PathBuf>,
}

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct Listening {
    pub url: String,
    /// The token, if it was generated now.
    pub made_token: Option<String>,
}

type Service<H> = StreamableHttpService<H, LocalSessionManager>;

struct Shared<H> {
    service: Service<H>,
    guard: Arc<Guard>,
}

impl<H> Clone for Shared<H> {
    fn clone(&self) -> Shared<H> {
        Shared {
            service: self.service.clone(),
            guard: self.guard.clone(),
        }
    }
}

/// Serves until the process is killed. Reports when it listens.
pub fn serve_http(
    outlive: Outlive,
    options: Options,
    http: &Http,
    begun: impl FnOnce(&Listening),
) -> io::Result<()> {
    serve_http_within(outlive, options, http, |server| server, begun)
}

/// Like [`serve_http`], with the server inside another one that may add tools.
pub fn serve_http_within<H: ServerHandler>(
    outlive: Outlive,
    options: Options,
    http: &Http,
    around: impl Fn(Server) -> H + Send + Sync + 'static,
    begun: impl FnOnce(&Listening),
) -> io::Result<()> {
    if !http.address.ip().is_loopback() && !http.allow_remote {
        return Err(io::Error::other(format!(
            "other machines can reach {}, and anyone who has the token can run commands; pass --allow-remote if you want that",
            http.address
        )));
    }
    let (token, made_token) = match &http.token_file {
        Some(path) => (read_token(path)?, None),
        None => {
            let token = make_token()?;
            let made = token.secret().to_owned();
            (token, Some(made))
        }
    };
    // Only web pages of this machine may connect, and only with the token.
    let guard = Guard::new(token, Pages::OfThisMachine).known_as(http.hosts.iter().cloned());
    let router = router_within(outlive, options, guard, around)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let door = Door::at(http.address).await?;
        begun(&Listening {
            url: format!("http://{}/mcp", door.address()?),
            made_token,
        });
        let service = router.into_make_service_with_connect_info::<Visitor>();
        axum::serve(door, service).await
    })
}

/// The route `/mcp`, for a server that accepts its connections at an `outlive_guard::Door`. Only the owner may use it.
pub fn router(outlive: Outlive, options: Options, guard: Guard) -> io::Result<Router> {
    router_within(outlive, options, guard, |server| server)
}

fn router_within<H: ServerHandler>(
    outlive: Outlive,
    options: Options,
    guard: Guard,
    around: impl Fn(Server) -> H + Send + Sync + 'static,
) -> io::Result<Router> {
    let deliveries = Deliveries::default();
    let server = Server::new(outlive, options, deliveries, CancellationToken::new(), None)
        .map_err(io::Error::other)?;
    let shared = Shared {
        service: service(move || around(server.for_a_client())),
        guard: Arc::new(guard),
    };
    Ok(Router::new()
        .route("/mcp", axum::routing::any(handle::<H>))
        .with_state(shared))
}

/// The service, created for each client session and for each request without one.
fn service<H: ServerHandler>(make: impl Fn() -> H + Send + Sync + 'static) -> Service<H> {
    let mut config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MAX_MESSAGE)
        // The guard has looked at both.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    config.session_store = Some(Arc::new(Sessions::default()));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    StreamableHttpService::new(move || Ok(make()), Arc::new(sessions), config)
}

async fn handle<H: ServerHandler>(
    State(shared): State<Shared<H>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    match shared.guard.admit(&head).map(|pass| pass.rights) {
        Ok(Rights::Owner) => {}
        Ok(Rights::Reader) => {
            let words = "the token only allows to look; MCP needs the owner's\n";
            return (StatusCode::FORBIDDEN, words).into_response();
        }
        Err(refusal) => return refused(refusal),
    }
    let request = Request::from_parts(head, body);
    visitor.may_stay();
    match *request.method() {
        Method::POST => post(&shared.service, request).await,
        Method::DELETE => match shared.service.handle(request).await {
            // Clients wait for one of these two.
            ended if ended.status() == StatusCode::ACCEPTED => StatusCode::OK.into_response(),
            refused => refused.map(Body::new),
        },
        _ => shared.service.handle(request).await.map(Body::new),
    }
}

async fn post<H: ServerHandler>(service: &Service<H>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let message = match message::read(body).await {
        Ok(message) => message,
        Err(refusal) => return refusal,
    };
    let slot = Slot::default();
    head.extensions.insert(slot.clone());
    let headers = head.headers.clone();
    let request = Request::from_parts(head, Body::from(message.clone()));
    let response = service.handle(request).await;
    if let Some(refusal) = message::if_malformed(response.status(), &headers, &message) {
        return refusal;
    }
    response.map(|body| {
        Body::new(Noted {
            inner: Body::new(body),
            slot,
        })
    })
}

fn refused(refusal: Refusal) -> Response {
    let words = format!("{}\n", refusal.words());
    match refusal {
        Refusal::Token => {
            let challenge = [(WWW_AUTHENTICATE, "Bearer")];
            (StatusCode::UNAUTHORIZED, challenge, words).into_response()
        }
        Refusal::Host | Refusal::Page => (StatusCode::FORBIDDEN, words).into_response(),
    }
}

/// What to record after the response to one HTTP request is written.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<ReplyInProgress>>>);

impl Slot {
    pub fn add(&self, begun: ReplyInProgress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    fn take(&self) -> Option<ReplyInProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The slot of the HTTP request that carried this request, if any.
pub fn slot(extensions: &Extensions) -> Option<&Slot> {
    extensions.get::<Parts>()?.extensions.get::<Slot>()
}

/// The session that the HTTP request names, for clients that can only send a header.
pub fn session(extensions: &Extensions) -> Option<&str> {
    let header = extensions.get::<Parts>()?.headers.get(SESSION)?;
    header.to_str().ok().filter(|key| !key.is_empty())
}

/// A body that records when all of it has been passed on.
struct Noted {
    inner: Body,
    slot: Slot,
}

impl HttpBody for Noted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        let is_out = match &frame {
            Poll::Pending | Poll::Ready(Some(Err(_))) => false,
            Poll::Ready(None) => true,
            Poll::Ready(Some(Ok(_))) => self.inner.is_end_stream(),
        };
        if is_out && let Some(begun) = self.slot.take() {
            tokio::spawn(begun.done());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
