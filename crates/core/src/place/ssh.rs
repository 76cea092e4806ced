//! Hosts that are reached with `ssh`.

use super::BadPlace;
use std::fmt;

/// A host as `ssh` knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SshHost {
    pub user: Option<String>,
    pub host: String,
    pub port: Option<u16>,
}

impl SshHost {
    /// `[user@]host[:port]`; an IPv6 address is written in brackets.
    pub fn parse(text: &str) -> Result<SshHost, BadPlace> {
        let bad = |why| BadPlace::BadHost(text.to_owned(), why);
        let (user, rest) = match text.rsplit_once('@') {
            Some((user, rest)) => (Some(user), rest),
            None => (None, text),
        };
        let (host, port) = host_and_port(rest).ok_or_else(|| bad("the brackets do not fit"))?;
        let port = match port.map(str::parse) {
            None => None,
            Some(Ok(0) | Err(_)) => return Err(bad("its port is no number from 1 to 65535")),
            Some(Ok(port)) => Some(port),
        };
        // ssh would read such a word as an option.
        if host.starts_with('-') || user.is_some_and(|user| user.starts_with('-')) {
            return Err(bad("it begins with a hyphen"));
        }
        if host.is_empty() || user == Some("") {
            return Err(bad("a part of it is empty"));
        }
        if text.contains(|letter: char| letter.is_whitespace() || "'\"\\;|&$`".contains(letter)) {
            return Err(bad(
                "it contains a space, a quote or another character of shells",
            ));
        }
        Ok(SshHost {
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port,
        })
    }
}

fn host_and_port(text: &str) -> Option<(&str, Option<&str>)> {
    let Some(bracketed) = text.strip_prefix('[') else {
        return Some(match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        });
    };
    let (host, rest) = bracketed.split_once(']')?;
    match rest {
        "" => Some((host, None)),
        rest => Some((host, Some(rest.strip_prefix(':')?))),
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(out, "{user}@")?;
        }
        match self.host.contains(':') {
            true => write!(out, "[{}]", self.host)?,
            false => out.write_str(&self.host)?,
        }
        match self.port {
            Some(port) => write!(out, ":{port}"),
            None => Ok(()),
        }
    }
}
