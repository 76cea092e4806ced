//! Where a request comes from: the host that it names, and the web page that sent it.
//!
//! A web page can make a browser send requests to this machine. Two things give it away. If its own host name leads
//! here (DNS rebinding), the request names that host. Otherwise the browser says which page sent the request, in `Origin`
//! and `Sec-Fetch-Site`, which no page can change.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use std::net::IpAddr;

/// Which web pages may send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Only pages that this server served.
    Own,
    /// Pages of any server on this machine.
    OfThisMachine,
}

/// Whether this host name always means the machine itself.
pub fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The host and port that a request names.
pub(crate) fn named<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let authority = uri.authority().map(|authority| authority.as_str());
    authority.or_else(|| headers.get(HOST)?.to_str().ok())
}

/// Whether requests that name this host are served. A number cannot be rebound, so every one is.
pub(crate) fn is_own_host(authority: &str, hosts: &[String]) -> bool {
    let Some(name) = name_of(authority) else {
        return false;
    };
    is_loopback_name(name)
        || name.parse::<IpAddr>().is_ok()
        || hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}

/// What a request says of the page that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// No web page, or a browser that says nothing.
    Unknown,
    /// A page that may send requests.
    Allowed,
    /// Any other page.
    Foreign,
}

/// Which page sent a request to this host and port.
pub(crate) fn sender(authority: &str, headers: &HeaderMap, pages: Pages) -> Sender {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let is_own_site = matches!(site, None | Some(b"same-origin" | b"none"));
    let Some(origin) = headers.get(ORIGIN) else {
        return match (is_own_site, pages) {
            (false, Pages::Own) => Sender::Foreign,
            _ => Sender::Unknown,
        };
    };
    let origin = origin.to_str().unwrap_or_default();
    let page = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let is_allowed = page.is_some_and(|page| match pages {
        Pages::Own => is_own_site && page.eq_ignore_ascii_case(authority),
        Pages::OfThisMachine => name_of(page).is_some_and(is_loopback_name),
    });
    match is_allowed {
        true => Sender::Allowed,
        false => Sender::Foreign,
    }
}

/// The host without its port. An address of version 6 stands in brackets.
fn name_of(authority: &str) -> Option<&str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (name, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
        return is_port.then_some(name);
    }
    match authority.split_once(':') {
        None => Some(authority),
        Some((name, port)) => is_number(port).then_some(name),
    }
    .filter(|name| !name.is_empty() && !name.contains(['/', '@', '?', '#']))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_may_be_rebound_is_no_own_host() {
        let hosts = ["box.example".to_owned()];
        for (authority, own) in [
            ("localhost:80", true),
            ("LOCALHOST", true),
            ("127.0.0.1:4000", true),
            ("[::1]:4000", true),
            ("[::1]", true),
            ("192.0.2.7:80", true),
            ("box.example:1", true),
            ("Box.Example", true),
            ("evil.example", false),
            ("localhost.evil.example:80", false),
            ("127.0.0.1.evil.example", false),
            ("evil@localhost", false),
            ("localhost:80@evil.example", false),
            ("[::1].evil.example", false),
            ("", false),
            (":80", false),
        ] {
            assert_eq!(is_own_host(authority, &hosts), own, "{authority:?}");
        }
    }

    fn sent(headers: &[(&'static str, &str)], pages: Pages) -> Sender {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header"));
        }
        sender("127.0.0.1:4000", &map, pages)
    }

    #[test]
    fn only_the_own_page_is_the_own_page() {
        for (headers, expected) in [
            (&[][..], Sender::Unknown),
            (&[("sec-fetch-site", "none")], Sender::Unknown),
            (&[("sec-fetch-site", "same-origin")], Sender::Unknown),
            (&[("sec-fetch-site", "same-site")], Sender::Foreign),
            (&[("sec-fetch-site", "cross-site")], Sender::Foreign),
            (&[("origin", "http://127.0.0.1:4000")], Sender::Allowed),
            (&[("origin", "http://127.0.0.1:4001")], Sender::Foreign),
            (&[("origin", "http://localhost:4000")], Sender::Foreign),
            (&[("origin", "https://evil.example")], Sender::Foreign),
            (&[("origin", "null")], Sender::Foreign),
            (&[("origin", "")], Sender::Foreign),
            (
                &[
                    ("origin", "http://127.0.0.1:4000"),
                    ("sec-fetch-site", "cross-site"),
                ],
                Sender::Foreign,
            ),
        ] {
            assert_eq!(sent(headers, Pages::Own), expected, "{headers:?}");
        }
    }

    #[test]
    fn pages_of_this_machine_are_those_of_loopback() {
        for (origin, expected) in [
            ("http://localhost:6274", Sender::Allowed),
            ("http://127.0.0.1", Sender::Allowed),
            ("http://[::1]:80", Sender::Allowed),
            ("http://localhost.evil.example", Sender::Foreign),
            ("https://evil.example", Sender::Foreign),
            ("file://localhost", Sender::Foreign),
            ("null", Sender::Foreign),
        ] {
            assert_eq!(
                sent(&[("origin", origin)], Pages::OfThisMachine),
                expected,
                "{origin:?}"
            );
        }
        let site = [("sec-fetch-site", "same-site")];
        assert_eq!(sent(&site, Pages::OfThisMachine), Sender::Unknown);
    }
}
