//! Places: where a job runs, as a person names it.
//!
//! ```text
//!  local                      here
//!  ssh:[user@]host[:port]     a host, as `ssh` and its configuration know it
//!  cmd:TEMPLATE               any command that runs `sh` there, with its standard input and output
//!  text:TEMPLATE              any command that is given a command line, runs it there and prints what it printed
//!  swerex:URL                 a server of SWE-ReX
//!  caller:NAME                a sandbox that a program here lends under this name
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
    /// The words of a command that runs one command line at the place and prints what that printed.
    Text(String),
    /// The address of a server of SWE-ReX.
    Swerex(String),
    /// What a program of this user lends under this name: it executes command lines for us.
    Caller(Label),
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
        "{0:?} is no kind of place; known are local, ssh:[USER@]HOST[:PORT], cmd:COMMAND, text:COMMAND, swerex:URL, caller:NAME, and names of your configuration"
    )]
    UnknownKind(String),
    #[error("{0:?} is no host for ssh: {1}")]
    BadHost(String, &'static str),
    #[error("cmd: needs a command that runs `sh`")]
    NoCommand,
    #[error("text: needs a command that is given a command line and prints what it printed")]
    NoTextCommand,
    #[error("{0:?} is no server of SWE-ReX: {1}")]
    BadServer(String, &'static str),
    #[error("{0:?} cannot be the name of what a caller lends: {1}")]
    BadCaller(String, String),
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
    /// Whether the place can only run one command and return its text.
    pub fn is_one_shot(&self) -> bool {
        match self {
            Address::Ssh(_) | Address::Command(_) => false,
            Address::Text(_) | Address::Swerex(_) | Address::Caller(_) => true,
        }
    }

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
            Some(("text", command)) if command.trim().is_empty() => Err(BadPlace::NoTextCommand),
            Some(("text", command)) => Ok(Address::Text(command.to_owned())),
            Some(("swerex", url)) => server(url).map(Address::Swerex),
            Some(("caller", name)) => Label::parse(name)
                .map(Address::Caller)
                .map_err(|error| BadPlace::BadCaller(name.to_owned(), error.to_string())),
            _ => Err(BadPlace::UnknownKind(text.to_owned())),
        }
    }
}

/// The address of a server, without a slash at its end.
fn server(url: &str) -> Result<String, BadPlace> {
    let bad = |why| Err(BadPlace::BadServer(url.to_owned(), why));
    let schemes = ["http://", "https://"];
    let Some(rest) = schemes.iter().find_map(|scheme| url.strip_prefix(scheme)) else {
        return bad("its address begins with http:// or https://");
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        return bad("it has no host");
    }
    // Addresses are shown, and are arguments of programs.
    if host.contains('@') {
        return bad(
            "a password does not belong into an address; name a token in the configuration",
        );
    }
    if rest.contains(|letter: char| letter.is_whitespace() || "?#".contains(letter)) {
        return bad("it contains a space, a question mark or a hash");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ssh(host) => write!(out, "ssh:{host}"),
            Address::Command(command) => write!(out, "cmd:{command}"),
            Address::Text(command) => write!(out, "text:{command}"),
            Address::Swerex(url) => write!(out, "swerex:{url}"),
            Address::Caller(name) => write!(out, "caller:{name}"),
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
            "text:docker exec web sh -c {}",
            "swerex:http://127.0.0.1:8000",
            "swerex:https://box.example/rex",
            "caller:hermes",
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
            "text:",
            "text: ",
            "swerex:",
            "swerex:localhost:8000",
            "swerex:http://",
            "swerex:http://token@host",
            "swerex:http://host/?token=x",
            "caller:",
        ] {
            assert!(PlaceName::parse(text).is_err(), "{text:?}");
        }
    }
}
