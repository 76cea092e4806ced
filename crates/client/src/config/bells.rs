//! `[[doorbell]]`: what rings when jobs end.

use super::error::{BadConfig, ValueError};
use super::section::Section;
use crate::doorbell::ON_END;
use http::Uri;
use outlive_core::Label;
use outlive_core::defaults::{DOORBELL_TIMEOUT, WEBHOOK_TIMEOUT};
use outlive_core::doorbell::{self, RingsOn};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const MAX_TIMEOUT: Duration = Duration::from_millis(doorbell::MAX_TIMEOUT_MS);
/// Extra time for a webhook process, in addition to the server's: to start, and to report a failure.
const MARGIN: Duration = Duration::from_secs(5);

/// A configured doorbell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bell {
    /// Its own name among the doorbells.
    pub name: Label,
    /// For which ends it rings.
    pub on: RingsOn,
    /// What ringing it does.
    pub kind: Kind,
    /// How long one ring may take.
    pub timeout: Duration,
}

impl Bell {
    /// When a keeper gives up on one ring.
    pub fn patience(&self) -> Duration {
        match self.kind {
            Kind::Webhook(_) => (self.timeout + MARGIN).max(DOORBELL_TIMEOUT),
            Kind::Desktop | Kind::Command(_) => self.timeout,
        }
    }
}

/// What ringing it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Posts the event to a web server.
    Webhook(Webhook),
    /// Shows a notification on this machine's desktop.
    Desktop,
    /// Runs a command with the event on its standard input.
    Command(String),
}

/// A web server that an event is posted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The address.
    pub url: Url,
    /// The secret for the signature.
    pub secret: Option<Secret>,
    /// How long to wait for the answer.
    pub timeout: Duration,
}

/// Where a secret is stored; never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// In this environment variable.
    Variable(String),
    /// In this file.
    File(PathBuf),
}

/// The address of a webhook. The path may be the only secret, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Url(Uri);

impl Url {
    /// Reads an address; `None` unless it is http or https and names a host.
    pub fn parse(text: &str) -> Option<Url> {
        let uri: Uri = text.parse().ok()?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        (is_web && has_host).then_some(Url(uri))
    }

    /// The whole address with its path. Only the program that posts to it needs this.
    pub fn secret_text(&self) -> String {
        self.0.to_string()
    }

    /// Whether the connection is encrypted.
    pub fn is_https(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// Whether it is on this machine, so that no proxy is used.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

/// Shown without its path, and without a name and password before its host.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.scheme_str().unwrap_or_default();
        write!(f, "{scheme}://{}", self.0.host().unwrap_or_default())?;
        match self.0.port_u16() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Every doorbell of the file.
pub fn read(top: &mut Section<'_>) -> Result<Vec<Bell>, BadConfig> {
    let mut bells: Vec<Bell> = Vec::new();
    for mut section in top.sections("doorbell")? {
        let bell = bell(&mut section, &bells)?;
        section.finish()?;
        bells.push(bell);
    }
    Ok(bells)
}

fn bell(section: &mut Section<'_>, others: &[Bell]) -> Result<Bell, BadConfig> {
    let name = section.needed_text("name", "name = \"ops\"", |text| name(text, others))?;
    let kinds = "kind = \"webhook\", \"desktop\" or \"command\"";
    let kind = section.needed_text("kind", kinds, |text| match text {
        "webhook" | "desktop" | "command" => Ok(text.to_owned()),
        _ => Err(ValueError::NoChoice {
            found: text.to_owned(),
            choices: "webhook, desktop, command",
        }),
    })?;
    let on = section.text("on", |text| match text {
        "end" => Ok(RingsOn::End),
        "failure" => Ok(RingsOn::Failure),
        _ => Err(ValueError::NoChoice {
            found: text.to_owned(),
            choices: "end, failure",
        }),
    })?;
    let mut timeout = match kind.as_str() {
        "webhook" => WEBHOOK_TIMEOUT,
        _ => DOORBELL_TIMEOUT,
    };
    section.limited_duration("timeout", &mut timeout, MAX_TIMEOUT)?;
    Ok(Bell {
        name,
        on: on.unwrap_or_default(),
        timeout,
        kind: match kind.as_str() {
            "webhook" => Kind::Webhook(webhook(section, timeout)?),
            "desktop" => Kind::Desktop,
            _ => Kind::Command(command(section)?),
        },
    })
}

fn name(text: &str, others: &[Bell]) -> Result<Label, ValueError> {
    if text == ON_END {
        return Err(ValueError::Reserved(text.to_owned()));
    }
    if others.iter().any(|other| other.name.as_str() == text) {
        return Err(ValueError::Twice(text.to_owned()));
    }
    Label::parse(text).map_err(|reason| ValueError::Label {
        text: text.to_owned(),
        reason,
    })
}

fn webhook(section: &mut Section<'_>, timeout: Duration) -> Result<Webhook, BadConfig> {
    let url = section.needed_text("url", "url = \"https://host/path\"", |text| {
        Url::parse(text).ok_or(ValueError::NotUrl)
    })?;
    let secret = secret(section, "secret_env", "secret_file")?;
    Ok(Webhook {
        url,
        secret,
        timeout,
    })
}

/// Where a secret is, by one of these two keys.
pub(super) fn secret(
    section: &mut Section<'_>,
    by_variable: &'static str,
    by_file: &'static str,
) -> Result<Option<Secret>, BadConfig> {
    let variable = section.text(by_variable, variable)?;
    let file = section.text(by_file, |text| match PathBuf::from(text) {
        _ if variable.is_some() => Err(ValueError::TwoSecrets(by_variable)),
        path if path.is_absolute() => Ok(Secret::File(path)),
        path => Err(ValueError::NotAbsolute(path)),
    })?;
    Ok(variable.or(file))
}

fn variable(text: &str) -> Result<Secret, ValueError> {
    let is_name = |text: &str| {
        !text.is_empty()
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match is_name(text) {
        true => Ok(Secret::Variable(text.to_owned())),
        false => Err(ValueError::NotVariable),
    }
}

fn command(section: &mut Section<'_>) -> Result<String, BadConfig> {
    section.needed_text("command", "command = \"notify-me\"", |text| {
        match text.trim().is_empty() || text.contains('\0') {
            true => Err(ValueError::NoCommand),
            false => Ok(text.to_owned()),
        }
    })
}
