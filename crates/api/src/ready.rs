//! The signs by which a job counts as ready.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The sign to wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// A line of the output that matches this regular expression.
    Line(String),
    /// A process listens on this port of this machine.
    Port(u16),
    /// A web server answers a request.
    Http(Http),
}

/// The request to a web server, and the status that counts as ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Http {
    /// The host to connect to.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path, with its query.
    pub path: String,
    /// The status that counts; without it, anything from 200 to 399.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// Why the text of a sign was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadReady {
    /// It is none of the kinds.
    #[error("{0:?} is not a sign of readiness; write line:REGEX, port:NUMBER or http:URL[=STATUS]")]
    Kind(String),
    /// It is no port.
    #[error("{0:?} is not a port; write a number from 1 to 65535")]
    Port(String),
    /// It is no URL.
    #[error("{0:?} is not a URL such as http://127.0.0.1:8080/health")]
    Url(String),
    /// It is an https URL.
    #[error("https is not supported; use http, or port:NUMBER")]
    Https,
}

impl Ready {
    /// Parses `line:RE`, `port:N` or `http:URL[=STATUS]`. A plain `http://…` is accepted too.
    pub fn parse(text: &str) -> Result<Ready, BadReady> {
        match text.split_once(':') {
            Some(("line", pattern)) if !pattern.is_empty() => Ok(Ready::Line(pattern.to_owned())),
            Some(("port", port)) => Ok(Ready::Port(parse_port(port)?)),
            Some(("http", rest)) if rest.starts_with("//") => Http::parse(text).map(Ready::Http),
            Some(("http", url)) => Http::parse(url).map(Ready::Http),
            Some(("https", _)) => Err(BadReady::Https),
            _ => Err(BadReady::Kind(text.to_owned())),
        }
    }
}

impl Ready {
    /// Checks a sign that was not parsed from its text.
    pub fn check(&self) -> Result<(), BadReady> {
        match self {
            Ready::Line(pattern) if pattern.is_empty() => Err(BadReady::Kind(self.to_string())),
            Ready::Line(_) => Ok(()),
            Ready::Port(0) => Err(BadReady::Port("0".to_owned())),
            Ready::Port(_) => Ok(()),
            Ready::Http(http) => http.check(),
        }
    }
}

fn parse_port(text: &str) -> Result<u16, BadReady> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(BadReady::Port(text.to_owned())),
    }
}

impl Http {
    fn parse(text: &str) -> Result<Http, BadReady> {
        let (url, status) = split_status(text);
        match url.split_once("://") {
            Some(("http", _)) | None => {}
            Some(("https", _)) => return Err(BadReady::Https),
            Some(_) => return Err(BadReady::Url(text.to_owned())),
        }
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (authority, path) = match rest.find(['/', '?']) {
            Some(index) => rest.split_at(index),
            None => (rest, ""),
        };
        let (host, port) = match authority.rsplit_once(':') {
            // An IPv6 address in brackets contains colons of its own.
            Some((host, port)) if !port.ends_with(']') => (host, parse_port(port)?),
            _ => (authority, 80),
        };
        let http = Http {
            host: host.to_owned(),
            port,
            path: match path.starts_with('/') {
                true => path.to_owned(),
                false => format!("/{path}"),
            },
            status,
        };
        match http.is_possible() {
            true => Ok(http),
            false => Err(BadReady::Url(text.to_owned())),
        }
    }

    fn check(&self) -> Result<(), BadReady> {
        match self.is_possible() {
            true if self.port == 0 => Err(BadReady::Port("0".to_owned())),
            true => Ok(()),
            false => Err(BadReady::Url(format!(
                "{}:{}{}",
                self.host, self.port, self.path
            ))),
        }
    }

    /// Whether a request can be made of it that has one line for the path and one for the host.
    fn is_possible(&self) -> bool {
        let is_of_host = |c: char| c.is_ascii_graphic() && c != '@';
        !self.host.is_empty()
            && self.host.chars().all(is_of_host)
            && self.path.starts_with('/')
            && self.path.chars().all(|c| c.is_ascii_graphic())
    }

    /// Whether this status counts as ready.
    pub fn accepts(&self, status: u16) -> bool {
        match self.status {
            Some(wanted) => status == wanted,
            None => (200..400).contains(&status),
        }
    }
}

/// Splits off a status: three digits after the last `=`.
fn split_status(text: &str) -> (&str, Option<u16>) {
    match text.rsplit_once('=') {
        Some((url, digits)) if digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (url, digits.parse().ok())
        }
        _ => (text, None),
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ready::Line(pattern) => write!(f, "line:{pattern}"),
            Ready::Port(port) => write!(f, "port:{port}"),
            Ready::Http(http) => {
                write!(f, "http://{}:{}{}", http.host, http.port, http.path)?;
                http.status.map_or(Ok(()), |status| write!(f, "={status}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_that_is_printed_parses_to_the_same_sign() {
        for (text, shown) in [
            ("line:^ready$", "line:^ready$"),
            ("port:8080", "port:8080"),
            (
                "http:http://localhost:3000/health",
                "http://localhost:3000/health",
            ),
            ("http://localhost", "http://localhost:80/"),
            ("http:localhost:81/x?a=b", "http://localhost:81/x?a=b"),
            ("http:http://[::1]:9/=204", "http://[::1]:9/=204"),
            ("http:http://[::1]/", "http://[::1]:80/"),
            ("http:http://h:1?q", "http://h:1/?q"),
        ] {
            let ready = Ready::parse(text).expect(text);
            assert_eq!(ready.to_string(), shown);
            assert_eq!(Ready::parse(shown), Ok(ready), "{shown} reads back");
        }
        for bad in [
            "",
            "line:",
            "port:0",
            "port:65536",
            "port:x",
            "http:",
            "http://",
            "https://x",
            "http:https://x",
            "8080",
            "socket:/x",
            "http://a b/",
            "http://h:x/",
            "http://u@h/",
            "http:ftp://h/",
        ] {
            assert!(Ready::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_server_is_ready_only_with_an_accepted_status() {
        let http = |text| match Ready::parse(text) {
            Ok(Ready::Http(http)) => http,
            other => panic!("{other:?}"),
        };
        let any = http("http://h/");
        assert!(any.accepts(200) && any.accepts(302) && !any.accepts(404) && !any.accepts(503));
        let exact = http("http://h/=401");
        assert!(exact.accepts(401) && !exact.accepts(200));
    }
}
