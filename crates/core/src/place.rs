//! Places: where a job runs, as a person names it.
//!
//! ```text
//!  local                      here
//!  ssh:[user@]host[:port]     a host, as `ssh` and its configuration know it
//!  docker:NAME, podman:NAME   a running container; `?user=U` names who runs programs in it
//!  apptainer:instance://NAME  a running instance; also singularity:
//!  apptainer:IMAGE            a container of its own for each job, on this machine
//!  kube:[CTX/][NS/]pod/NAME[/CONTAINER]   a running pod
//!  cmd:TEMPLATE               any command that runs `sh` there, with its standard input and output
//!  text:TEMPLATE              any command that is given a command line, runs it there and prints what it printed
//!  swerex:URL                 a server of SWE-ReX
//!  caller:NAME                a sandbox that a program here lends under this name
//!  NAME                       a place of the configuration, `[place.NAME]`
//! ```
//! Everything here is pure: nobody is contacted.

mod container;
mod ssh;

pub use container::{
    ApptainerImage, ApptainerInstance, Container, ContainerRef, Engine, INSTANCE, Pod, Runner,
};
pub use ssh::SshHost;

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
    Container(Container),
    Instance(ApptainerInstance),
    /// Each job has a container of its own. It is a job of this machine.
    Image(ApptainerImage),
    Pod(Pod),
    /// The words of a command that runs `sh` at the place.
    Command(String),
    /// The words of a command that runs one command line at the place and prints what that printed.
    Text(String),
    /// The address of a server of SWE-ReX.
    Swerex(String),
    /// What a program of this user lends under this name: it executes command lines for us.
    Caller(Label),
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
        "{0:?} is no kind of place; known are local, ssh:[USER@]HOST[:PORT], docker:NAME, podman:NAME, apptainer:instance://NAME, apptainer:IMAGE, cmd:COMMAND, text:COMMAND, swerex:URL, caller:NAME, and names of your configuration"
    )]
    UnknownKind(String),
    #[error("{0:?} is no host for ssh: {1}")]
    BadHost(String, &'static str),
    #[error("{text:?} is no name of {what}: {why}")]
    BadAddress {
        /// With its article.
        what: &'static str,
        text: String,
        why: &'static str,
    },
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

impl BadPlace {
    fn bad(what: &'static str, text: &str, why: &'static str) -> BadPlace {
        let text = text.to_owned();
        BadPlace::BadAddress { what, text, why }
    }
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
            Address::Ssh(_)
            | Address::Container(_)
            | Address::Instance(_)
            | Address::Image(_)
            | Address::Pod(_)
            | Address::Command(_) => false,
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
            Some(("docker", name)) => {
                Container::parse(Engine::Docker, name).map(Address::Container)
            }
            Some(("podman", name)) => {
                Container::parse(Engine::Podman, name).map(Address::Container)
            }
            Some(("apptainer", rest)) => apptainer(Runner::Apptainer, rest),
            Some(("singularity", rest)) => apptainer(Runner::Singularity, rest),
            Some(("kube", pod)) => Pod::parse(pod).map(Address::Pod),
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

fn apptainer(runner: Runner, rest: &str) -> Result<Address, BadPlace> {
    match rest.strip_prefix(INSTANCE) {
        Some(name) => ApptainerInstance::parse(runner, name).map(Address::Instance),
        None => ApptainerImage::parse(runner, rest).map(Address::Image),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ssh(host) => write!(out, "ssh:{host}"),
            Address::Container(container) => container.fmt(out),
            Address::Instance(instance) => instance.fmt(out),
            Address::Image(image) => image.fmt(out),
            Address::Pod(pod) => pod.fmt(out),
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
            "docker:web-1",
            "docker:0123456789ab?user=65534",
            "podman:box_2.x?user=me",
            "docker:web?user=1000:1000",
            "apptainer:instance://work",
            "singularity:instance://work",
            "apptainer:/data/images/tools.sif",
            "apptainer:docker://debian:12",
            "kube:pod/web-0",
            "kube:prod/pod/web-0/app",
            "kube:minikube/prod/pod/web-0",
            "kube:minikube//pod/web-0",
            "kube:arn:aws:eks:eu-west-1:1:cluster/c1/prod/pod/web-0",
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
            "lxd:x",
            "docker:",
            "docker:-v",
            "docker:a b",
            "docker:a;b",
            "docker:x?user=",
            "docker:x?user=-1",
            "docker:x?shell=y",
            "podman:--latest",
            "apptainer:",
            "apptainer:-x",
            "apptainer:instance://",
            "apptainer:instance://-x",
            "kube:",
            "kube:web-0",
            "kube:pod/",
            "kube:pod/-x",
            "kube:pod/x/-y",
            "kube:pod/x/y/z",
            "kube:-c/ns/pod/x",
            "kube:-ns/pod/x",
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
