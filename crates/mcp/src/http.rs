//! Serving over HTTP (streamable HTTP): clients of 2026-07-28 one request at a time, older ones in sessions
//! of the transport (`Mcp-Session-Id`), so that they can be told of what they subscribed to.
//!
//! On this machine only, unless asked otherwise; with a token; refusing requests that name another host
//! than this one, or that come from web pages of elsewhere: whoever can speak to this server can run commands.
//!
//! What a reply told is noted when its last byte has been taken to be sent; when the client has gone
//! before that, nothing is. (An older client that comes back for a reply it lost may so be told twice, with
//! the same ids.)
//!
//! The sessions of the transport are kept in memory only, and are not whose calls these are.

use crate::delivery::{Begun, Deliveries};
use crate::server::{Options, Server};
use crate::sessions::Sessions;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use outlive::Outlive;
use rmcp::ServerHandler;
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The header that names a session.
const SESSION: &str = "outlive-session";

/// So long nothing has to be said in a session: a working day. After that it is begun anew where it is needed,
/// but what was subscribed to is forgotten. One that its client never ends costs some fifty kilobytes until then.
const IDLE: Duration = Duration::from_secs(8 * 3600);

/// Where web pages may be from.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// Where to serve, and to whom.
#[derive(Clone, Debug)]
pub struct Http {
    pub address: SocketAddr,
    /// An address that other machines reach is meant.
    pub allow_remote: bool,
    /// Names of this machine that requests may use, besides its own address and those of loopback.
    pub hosts: Vec<String>,
    /// Holds the token, readable by its owner only; else one is made.
    pub token_file: Option<PathBuf>,
}

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct Listening {
    pub url: String,
    /// If it was made now.
    pub made_token: Option<String>,
}

type Service<H> = StreamableHttpService<H, LocalSessionManager>;

struct Shared<H> {
    service: Service<H>,
    token: Arc<str>,
}

impl<H> Clone for Shared<H> {
    fn clone(&self) -> Shared<H> {
        Shared {
            service: self.service.clone(),
            token: self.token.clone(),
        }
    }
}

/// Serves until it is killed; tells when it has begun.
pub fn serve_http(
    outlive: Outlive,
    options: Options,
    http: &Http,
    begun: impl FnOnce(&Listening),
) -> io::Result<()> {
    serve_http_within(outlive, options, http, |server| server, begun)
}

/// The same, with the server inside of another, which may add to what it offers.
pub fn serve_http_within<H: ServerHandler>(
    outlive: Outlive,
    options: Options,
    http: &Http,
    around: impl Fn(Server) -> H + Send + Sync + 'static,
    begun: impl FnOnce(&Listening),
) -> io::Result<()> {
    if !http.address.ip().is_loopback() && !http.allow_remote {
        return Err(io::Error::other(format!(
            "{} can be reached from other machines, and who reaches it can run commands; pass --allow-remote if that is meant",
            http.address
        )));
    }
    let (token, made_token) = match &http.token_file {
        Some(path) => (read_token(path)?, None),
        None => {
            let token = make_token()?;
            (token.clone(), Some(token))
        }
    };
    let deliveries = Deliveries::default();
    let server = Server::new(outlive, options, deliveries, CancellationToken::new())
        .map_err(io::Error::other)?;
    let shared = Shared {
        service: service(move || around(server.for_a_client()), http),
        token: token.into(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(http.address).await?;
        begun(&Listening {
            url: format!("http://{}/mcp", listener.local_addr()?),
            made_token,
        });
        let router = Router::new()
            .route("/mcp", axum::routing::any(handle::<H>))
            .with_state(shared);
        axum::serve(listener, router).await
    })
}

/// Whatever is made for each client's session, and for each request that is of none.
fn service<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    http: &Http,
) -> Service<H> {
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let hosts = own
        .into_iter()
        .chain([http.address.ip().to_string()])
        .chain(http.hosts.iter().cloned());
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        // Of web pages, only those of this machine are to speak to it, and with the token.
        .with_allowed_origins(ORIGINS)
        .enforce_origin_validation();
    config.session_store = Some(Arc::new(Sessions::default()));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    StreamableHttpService::new(move || Ok(make()), Arc::new(sessions), config)
}

async fn handle<H: ServerHandler>(
    State(shared): State<Shared<H>>,
    mut request: Request,
) -> Response {
    if !is_allowed(request.headers(), &shared.token) {
        let challenge = [(WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge, "a token is needed\n").into_response();
    }
    let slot = Slot::default();
    request.extensions_mut().insert(slot.clone());
    let response = shared.service.handle(request).await;
    response.map(|body| {
        Body::new(Noted {
            inner: Body::new(body),
            slot,
        })
    })
}

/// Compares all of it, however early it differs.
fn is_allowed(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    let Some(given) = given.and_then(|value| value.strip_prefix(b"Bearer ")) else {
        return false;
    };
    let differing = given.iter().zip(token.bytes());
    let differing = differing.fold(0, |bits, (a, b)| bits | (a ^ b));
    given.len() == token.len() && differing == 0
}

fn read_token(path: &Path) -> io::Result<String> {
    let of = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    if fs::metadata(path).map_err(of)?.mode() & 0o077 != 0 {
        return Err(of(io::Error::other(
            "others can read or change the token; make it private (chmod 600)",
        )));
    }
    let token = fs::read_to_string(path).map_err(of)?.trim().to_owned();
    match token.is_empty() {
        true => Err(of(io::Error::other("there is no token in it"))),
        false => Ok(token),
    }
}

fn make_token() -> io::Result<String> {
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is to be noted once the response to one HTTP request is out.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<Begun>>>);

impl Slot {
    pub fn add(&self, begun: Begun) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    fn take(&self) -> Option<Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The slot of the HTTP request that a request came by, if it did.
pub fn slot(extensions: &Extensions) -> Option<&Slot> {
    extensions.get::<Parts>()?.extensions.get::<Slot>()
}

/// Which session that HTTP request names: for clients that send no other, but any header.
pub fn session(extensions: &Extensions) -> Option<&str> {
    let header = extensions.get::<Parts>()?.headers.get(SESSION)?;
    header.to_str().ok().filter(|key| !key.is_empty())
}

/// A body that notes when all of it has been taken to be sent.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        for (given, allowed) in [
            (Some("Bearer secret"), true),
            (Some("Bearer secre"), false),
            (Some("Bearer secrets"), false),
            (Some("Bearer Secret"), false),
            (Some("Bearer "), false),
            (Some("secret"), false),
            (None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(AUTHORIZATION, given.parse().expect("a header"));
            }
            assert_eq!(is_allowed(&headers, "secret"), allowed, "{given:?}");
        }
    }
}
