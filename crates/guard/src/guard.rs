//! What is asked of a request before it is served.

use crate::source::{self, Pages, Sender};
use crate::token::Token;
use axum::http::header::{AUTHORIZATION, COOKIE, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};

/// The scheme of the authorization, with the blank after it.
const SCHEME: &[u8] = b"Bearer ";

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Everything.
    Owner,
    /// To look, without secrets.
    Reader,
}

/// How a request brought its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// In `Authorization`, which a program or a script of a page has set.
    Bearer,
    /// In a cookie, which a browser adds to every request, whoever causes it.
    Cookie,
}

/// A request that may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub rights: Rights,
    pub carried: Carried,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It names a host that is not this one.
    Host,
    /// A web page sent it that may not do so, or a browser that does not say which page it was.
    Page,
    /// It brings no token that this server knows.
    Token,
}

impl Refusal {
    /// The refusal for a person.
    pub fn words(self) -> &'static str {
        match self {
            Refusal::Host => {
                "this server is not known under the host name of the request; --allow-host adds a name"
            }
            Refusal::Page => "the request comes from a web page that may not send it",
            Refusal::Token => "a token is needed",
        }
    }
}

/// What a server asks of each request.
#[derive(Clone, Debug)]
pub struct Guard {
    tokens: Vec<(Token, Rights)>,
    hosts: Vec<String>,
    pages: Pages,
    /// The cookie that may carry a token, if any may.
    cookie: Option<String>,
}

impl Guard {
    /// A guard that accepts this token and own host names.
    pub fn new(owner: Token, pages: Pages) -> Guard {
        Guard {
            tokens: vec![(owner, Rights::Owner)],
            hosts: Vec::new(),
            pages,
            cookie: None,
        }
    }

    /// Also serves requests that name these hosts.
    #[must_use]
    pub fn known_as(mut self, hosts: impl IntoIterator<Item = String>) -> Guard {
        self.hosts.extend(hosts);
        self
    }

    /// Also accepts this token, which only allows to look.
    #[must_use]
    pub fn with_reader(mut self, token: Token) -> Guard {
        self.tokens.push((token, Rights::Reader));
        self
    }

    /// Also accepts tokens from a cookie with this name.
    #[must_use]
    pub fn with_cookie(mut self, name: impl Into<String>) -> Guard {
        self.cookie = Some(name.into());
        self
    }

    /// The same guard for a part of the server that other pages may use, but only with a token of their own.
    #[must_use]
    pub fn without_cookie(mut self, pages: Pages) -> Guard {
        self.cookie = None;
        self.pages = pages;
        self
    }

    /// Checks everything.
    pub fn admit(&self, request: &Parts) -> Result<Pass, Refusal> {
        let sender = self.sender(request)?;
        let pass = self.pass(&request.headers).ok_or(Refusal::Token)?;
        let is_blind = sender == Sender::Unknown && pass.carried == Carried::Cookie;
        // A browser names the page of each request that changes something, and of each WebSocket.
        match is_blind && changes(request) {
            true => Err(Refusal::Page),
            false => Ok(pass),
        }
    }

    /// Checks all but the token, for what everybody may read.
    pub fn admit_stranger(&self, request: &Parts) -> Result<(), Refusal> {
        let named = source::named(&request.uri, &request.headers);
        match named.is_some_and(|named| source::is_own_host(named, &self.hosts)) {
            true => Ok(()),
            false => Err(Refusal::Host),
        }
    }

    /// Checks all but the token, for a request that brings one in its body.
    pub fn admit_login(&self, request: &Parts) -> Result<(), Refusal> {
        match self.sender(request)? {
            Sender::Allowed => Ok(()),
            Sender::Unknown | Sender::Foreign => Err(Refusal::Page),
        }
    }

    /// What this token allows, if it is one.
    pub fn rights(&self, given: &[u8]) -> Option<Rights> {
        // Every token is compared, so that the time tells nothing.
        let tokens = self.tokens.iter();
        tokens.fold(None, |found, (token, rights)| match token.is(given) {
            true => Some(*rights),
            false => found,
        })
    }

    fn sender(&self, request: &Parts) -> Result<Sender, Refusal> {
        self.admit_stranger(request)?;
        let named = source::named(&request.uri, &request.headers).unwrap_or_default();
        match source::sender(named, &request.headers, self.pages) {
            Sender::Foreign => Err(Refusal::Page),
            sender => Ok(sender),
        }
    }

    fn pass(&self, headers: &HeaderMap) -> Option<Pass> {
        if let Some(given) = bearer(headers) {
            let (rights, carried) = (self.rights(given)?, Carried::Bearer);
            return Some(Pass { rights, carried });
        }
        let given = cookie(headers, self.cookie.as_deref()?)?;
        let (rights, carried) = (self.rights(given)?, Carried::Cookie);
        Some(Pass { rights, carried })
    }
}

/// Whether a request may do more than look.
fn changes(request: &Parts) -> bool {
    let is_safe = [Method::GET, Method::HEAD].contains(&request.method);
    !is_safe || request.headers.contains_key(UPGRADE)
}

/// The token in `Authorization`. The name of the scheme may be written in any case.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, given) = headers
        .get(AUTHORIZATION)?
        .as_bytes()
        .split_at_checked(SCHEME.len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(SCHEME);
    is_bearer.then(|| given.trim_ascii())
}

/// The value of the cookie with this name. A browser may send several cookies, in one header or in several.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let all = headers.get_all(COOKIE).iter();
    let mut pairs = all.flat_map(|header| header.as_bytes().split(|byte| *byte == b';'));
    pairs.find_map(|pair| {
        let value = pair.trim_ascii().strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn admitted(method: &str, headers: &[(&str, &str)]) -> Result<Pass, Refusal> {
        let guard = Guard::new(Token::new("owner"), Pages::Own)
            .with_reader(Token::new("reader"))
            .with_cookie("outlive-4000");
        let mut request = Request::builder().method(method).uri("/v1/jobs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        guard.admit(&parts)
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:4000");
    const OWN: (&str, &str) = ("origin", "http://127.0.0.1:4000");

    #[test]
    fn the_authorization_is_a_bearer_token_in_any_case() {
        for (given, allowed) in [
            ("Bearer owner", true),
            ("bearer owner", true),
            ("BEARER  owner", true),
            ("Bearer owne", false),
            ("Bearerowner", false),
            ("Basic owner", false),
            ("bear", false),
            ("Bearer ", false),
            ("owner", false),
        ] {
            let pass = admitted("POST", &[HERE, ("authorization", given)]);
            assert_eq!(pass.is_ok(), allowed, "{given:?}");
        }
    }

    #[test]
    fn a_cookie_counts_only_with_the_own_page() {
        let cookie = ("cookie", "a=b; outlive-4000=owner; c=d");
        let pass = Pass {
            rights: Rights::Owner,
            carried: Carried::Cookie,
        };
        assert_eq!(admitted("GET", &[HERE, cookie]), Ok(pass));
        assert_eq!(admitted("POST", &[HERE, cookie, OWN]), Ok(pass));
        assert_eq!(admitted("POST", &[HERE, cookie]), Err(Refusal::Page));
        let upgrade = ("upgrade", "websocket");
        assert_eq!(
            admitted("GET", &[HERE, cookie, upgrade]),
            Err(Refusal::Page)
        );
        assert_eq!(admitted("GET", &[HERE, cookie, upgrade, OWN]), Ok(pass));
        let foreign = ("origin", "http://127.0.0.1:4001");
        assert_eq!(
            admitted("GET", &[HERE, cookie, foreign]),
            Err(Refusal::Page)
        );
        let site = ("sec-fetch-site", "cross-site");
        assert_eq!(admitted("GET", &[HERE, cookie, site]), Err(Refusal::Page));
        let other = ("cookie", "outlive-4001=owner; xoutlive-4000=owner");
        assert_eq!(admitted("GET", &[HERE, other]), Err(Refusal::Token));
    }

    #[test]
    fn another_host_is_refused_whatever_the_token() {
        let token = ("authorization", "Bearer owner");
        for host in [&[][..], &[("host", "evil.example")]] {
            let headers = [&[token], host].concat();
            assert_eq!(admitted("GET", &headers), Err(Refusal::Host));
        }
    }

    #[test]
    fn a_reader_is_told_from_the_owner() {
        let rights =
            |token| admitted("GET", &[HERE, ("authorization", token)]).map(|pass| pass.rights);
        assert_eq!(rights("Bearer reader"), Ok(Rights::Reader));
        assert_eq!(rights("Bearer owner"), Ok(Rights::Owner));
        assert_eq!(rights("Bearer other"), Err(Refusal::Token));
    }
}
