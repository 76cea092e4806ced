//! Posts an event to a web server.
//!
//! A ring is one post. If no connection was made, it is retried once at once, because name lookups and
//! routes fail now and then. After any other failure, the keeper retries later. Redirects are not
//! followed: only the configured server gets the event.

use crate::error::NotRung;
use crate::event::Event;
use crate::{secret, signature, trust};
use outlive::config::{Url, Webhook};
use outlive_sys::clock;
use std::io::{self, ErrorKind};
use std::thread;
use std::time::Duration;
use ureq::Agent;
use ureq::http::HeaderValue;
use ureq::tls::{RootCerts, TlsConfig};

const MAX_ATTEMPTS: u32 = 2;
/// The pause between the two attempts.
pub const RETRY_PAUSE: Duration = Duration::from_millis(250);

pub fn ring(webhook: &Webhook, event: &Event, body: &[u8]) -> Result<(), NotRung> {
    let post = Post::new(webhook, event, body)?;
    let url = &webhook.url;
    let limit = webhook.timeout;
    let deadline = clock::boot_ms().saturating_add(limit.as_millis() as u64);
    let mut tries = 1;
    loop {
        let left = Duration::from_millis(deadline.saturating_sub(clock::boot_ms()));
        match post.send(url, left.max(Duration::from_millis(1))) {
            Ok(200..300) => return Ok(()),
            Ok(status) => {
                let url = url.clone();
                return Err(NotRung::Refused { url, status });
            }
            Err(error) if tries < MAX_ATTEMPTS && is_unconnected(&error) && left > RETRY_PAUSE => {
                tries += 1;
                thread::sleep(RETRY_PAUSE);
            }
            Err(error) => return Err(failure(url.clone(), limit, error)),
        }
    }
}

/// The data to send; the same in both attempts.
struct Post<'a> {
    id: HeaderValue,
    timestamp: u64,
    signature: Option<String>,
    roots: RootCerts,
    body: &'a [u8],
}

impl<'a> Post<'a> {
    fn new(webhook: &Webhook, event: &Event, body: &'a [u8]) -> Result<Post<'a>, NotRung> {
        let id = HeaderValue::from_str(&event.id).map_err(|_| NotRung::BadId(event.id.clone()))?;
        let timestamp = clock::wall_ms() / 1000;
        let secret = webhook.secret.as_ref().map(secret::read).transpose()?;
        Ok(Post {
            id,
            timestamp,
            signature: secret.map(|secret| signature::sign(&secret, timestamp, body)),
            roots: match webhook.url.is_https() {
                true => trust::roots()?,
                false => RootCerts::WebPki,
            },
            body,
        })
    }

    /// Returns the status of the answer.
    fn send(&self, url: &Url, limit: Duration) -> Result<u16, ureq::Error> {
        let mut request = self
            .agent(url, limit)
            .post(url.secret_text())
            .header("Content-Type", "application/json")
            .header("X-Outlive-Event", &self.id)
            .header("X-Outlive-Timestamp", self.timestamp.to_string());
        if let Some(signature) = &self.signature {
            request = request.header("X-Outlive-Signature", signature);
        }
        Ok(request.send(self.body)?.status().as_u16())
    }

    fn agent(&self, url: &Url, limit: Duration) -> Agent {
        let tls = TlsConfig::builder().root_certs(self.roots.clone()).build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(limit))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("outlive/", env!("CARGO_PKG_VERSION")));
        match url.is_loopback() {
            true => config.proxy(None).build().into(),
            false => config.build().into(),
        }
    }
}

/// Whether the server cannot have received the post.
fn is_unconnected(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Io(error) if is_lookup(error) => true,
        ureq::Error::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NetworkDown
                | ErrorKind::AddrNotAvailable
        ),
        _ => false,
    }
}

/// The standard library has no error kind for a failed name lookup, only this text.
fn is_lookup(error: &io::Error) -> bool {
    error.to_string().starts_with("failed to lookup address")
}

fn failure(url: Url, limit: Duration, error: ureq::Error) -> NotRung {
    let reason = match error {
        ureq::Error::Timeout(_) => return NotRung::NoAnswer { url, limit },
        ureq::Error::HostNotFound => "there is no host of this name; check its url".to_owned(),
        ureq::Error::Io(error) => match error.to_string() {
            text if text.contains("UnknownIssuer") => {
                format!("{text}; if its authority is your own, name that in SSL_CERT_FILE")
            }
            text => text,
        },
        other => other.to_string(),
    };
    NotRung::Unreachable { url, reason }
}
