//! Places: where a job runs, as a person names it.
//!
//! ```text
//!  local                      here
//!  ssh:[user@]host[:port]     a host, as `ssh` and its configuration know it
//!  cmd:TEMPLATE               any command that runs `sh` there, with its standard input and output
//!  NAME                       a place of the configuration, `[place.NAME]`
//! ```
//! Everything here is pure: nobody is contacted.

use crate::label::Label;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The place that needs no other machine.
pub const LOCAL: &str = "local";

/// The longest address.
const MAX_ADDRESS: usize = 1024;

/// Where a place is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Address {
    Ssh(SshHost),
    /// The words of a command that runs `sh` at the place.
    Command(String),
}

/// A host as `ssh` knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SshHost {
    pub user: Option<String>,
    pub host: String,
    pub port: Option<u16>,
}

/// What a text names as a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceName {
    Local,
    /// An address, which needs no configuration.
    At(Address),
    /// A place of the configuration.
    Named(Label),
}

/// Why a text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlace {
    #[error("a place cannot be empty")]
    Empty,
    #[error("a place is at most {MAX_ADDRESS} bytes long")]
    TooLong,
    #[error("a place cannot contain control characters")]
    ControlCharacter,
    #[error(
        "{0:?} is no kind of place; known are local, ssh:[USER@]HOST[:PORT], cmd:COMMAND, and names of your configuration"
    )]
    UnknownKind(String),
    #[error("{0:?} is no host for ssh: {1}")]
    BadHost(String, &'static str),
    #[error("cmd: needs a command that runs `sh`")]
    NoCommand,
    #[error("{0:?} cannot be the name of a place: {1}")]
    BadName(String, String),
}

impl PlaceName {
    pub fn parse(text: &str) -> Result<PlaceName, BadPlace> {
        if text.is_empty() {
            return Err(BadPlace::Empty);
        }
        if text == LOCAL {
            return Ok(PlaceName::Local);
        }
        match text.contains(':') {
            true => Address::parse(text).map(PlaceName::At),
            false => Label::parse(text)
                .map(PlaceName::Named)
                .map_err(|error| BadPlace::BadName(text.to_owned(), error.to_string())),
        }
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceName::Local => out.write_str(LOCAL),
            PlaceName::At(address) => address.fmt(out),
            PlaceName::Named(name) => name.fmt(out),
        }
    }
}

impl Address {
    pub fn parse(text: &str) -> Result<Address, BadPlace> {
        if text.len() > MAX_ADDRESS {
            return Err(BadPlace::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(BadPlace::ControlCharacter);
        }
        match text.split_once(':') {
            Some(("ssh", host)) => SshHost::parse(host).map(Address::Ssh),
            Some(("cmd", command)) if command.trim().is_empty() => Err(BadPlace::NoCommand),
            Some(("cmd", command)) => Ok(Address::Command(command.to_owned())),
            _ => Err(BadPlace::UnknownKind(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ssh(host) => write!(out, "ssh:{host}"),
            Address::Command(command) => write!(out, "cmd:{command}"),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

impl TryFrom<String> for Address {
    type Error = BadPlace;

    fn try_from(text: String) -> Result<Address, BadPlace> {
        Address::parse(&text)
    }
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in [
            "local",
            "gpu",
            "ssh:gpu1",
            "ssh:me@gpu1",
            "ssh:me@gpu1:2222",
            "ssh:[::1]:22",
            "ssh:me@[fe80::1]",
            "cmd:nsenter -t 1 -m sh",
        ] {
            let place = PlaceName::parse(text).unwrap();
            assert_eq!(place.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in [
            "",
            "ssh:",
            "ssh:-oProxyCommand=date",
            "ssh:-l@host",
            "ssh:@host",
            "ssh:host:0",
            "ssh:host:x",
            "ssh:host:70000",
            "ssh:a b",
            "ssh:host;date",
            "ssh:[::1",
            "ssh:[::1]22",
            "cmd:",
            "cmd:  ",
            "docker:x",
            "ssh:ho\nst",
        ] {
            assert!(PlaceName::parse(text).is_err(), "{text:?}");
        }
    }
}
