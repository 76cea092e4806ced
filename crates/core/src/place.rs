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
        "{0:?} is no kind of place; known are local, ssh:[USER@]HOST[:PORT], docker:NAME, podman:NAME, apptainer:instance://NAME, apptainer:IMAGE, cmd:COMMAND, and names of your configuration"
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
            _ => Err(BadPlace::UnknownKind(text.to_owned())),
        }
    }
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
        ] {
            assert!(PlaceName::parse(text).is_err(), "{text:?}");
        }
    }
}
