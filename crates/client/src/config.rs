//! The user's configuration: one TOML file, read from disk at each use.
//!
//! It is `config.toml` in the home if there is one, else the user's own (`$XDG_CONFIG_HOME/outlive/`).
//! Missing keys have the defaults below. A file with any error is refused as a whole, because half of a
//! configuration may do something the user did not mean. The error names the line, the key and what to write.
//!
//! | module | owns |
//! |---|---|
//! | `config/section.rs` | one table of the file: taking keys from it, and knowing their lines |
//! | `config/bells.rs` | `[[doorbell]]` |
//! | `config/jobs.rs` | `[defaults]` and `[environment]`: what a job gets that its request does not say |
//! | `config/places.rs`, `config/calls.rs` | `[place.NAME]`: other machines that jobs run on |
//! | `config/retention.rs` | `[retention]`: when ended jobs are removed by themselves |
//! | `config/error.rs` | what can be wrong with it |
//!
//! What it does not do: it reads no secret, only where one is (`doorbell/secret.rs` does).

mod bells;
mod calls;
mod error;
mod jobs;
pub(crate) mod places;
mod retention;
mod section;
#[cfg(test)]
mod tests;

use crate::home::outlive::Outlive;
pub use bells::{Bell, Kind, Secret, Url, Webhook};
pub use error::{BadConfig, ValueError};
pub use jobs::{Defaults, Inheritance, Withhold};
pub use retention::Retention;

use crate::places::Place;
use etcetera::BaseStrategy;
use outlive_core::breaker::BreakerRules;
use outlive_core::defaults;
use outlive_core::told::Rules;
use section::Section;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "config.toml";

/// Everything that can be configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Where it was read from; `None` if there is no file.
    pub file: Option<PathBuf>,
    /// The table `[inbox]`.
    pub inbox: Inbox,
    /// The table `[watch]`.
    pub watch: Watch,
    /// The table `[breaker]`.
    pub breaker: Breaker,
    /// The table `[limits]`.
    pub limits: Limits,
    /// The table `[defaults]`.
    pub defaults: Defaults,
    /// The table `[environment]`.
    pub environment: Inheritance,
    /// The table `[retention]`.
    pub retention: Retention,
    /// The doorbells, in the order of the file.
    pub doorbells: Vec<Bell>,
    /// The tables `[place.NAME]`.
    #[doc(hidden)]
    pub places: BTreeMap<String, Place>,
    /// The table `[mcp]`.
    pub mcp: Mcp,
}

/// What agents may do over MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mcp {
    /// The places where they may start jobs. `None` for those of the configuration.
    pub places: Option<Vec<String>>,
}

/// How events are delivered to sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox {
    /// How long an event that was delivered waits for an ack before it is delivered again.
    pub claim: Duration,
    /// How often it is delivered before it is dropped.
    pub attempts: u32,
    /// How long an event that was delivered and not acked is kept.
    pub keep: Duration,
}

/// How often one job may report matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// At most one report in this time.
    pub spacing: Duration,
    /// This many busy periods in a row turn a watch off.
    pub strikes: u32,
    /// A last line without an end counts as a line after the output has paused for this long.
    pub still: Duration,
}

/// How often all jobs together may report matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// This many events …
    pub most: u32,
    /// … in this time …
    pub window: Duration,
    /// … are followed by a pause of this length.
    pub silence: Duration,
}

/// What a session may not exceed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// At most this many jobs of one session run at once; no limit if `None`.
    pub jobs_per_session: Option<u32>,
}

impl Inbox {
    /// The rules in the form that [`told`](outlive_core::told) uses.
    pub fn rules(&self) -> Rules {
        Rules {
            claim: self.claim,
            attempts: self.attempts,
            keep: self.keep,
        }
    }
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox {
            claim: defaults::INBOX_CLAIM,
            attempts: defaults::INBOX_ATTEMPTS,
            keep: defaults::INBOX_KEEP,
        }
    }
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            spacing: defaults::WATCH_SPACING,
            strikes: defaults::WATCH_STRIKES,
            still: defaults::STILL,
        }
    }
}

impl Breaker {
    /// The rules in the form that keepers use.
    pub fn rules(&self) -> BreakerRules {
        BreakerRules {
            most: self.most as usize,
            window_ms: self.window.as_millis() as u64,
            silence_ms: self.silence.as_millis() as u64,
        }
    }
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker {
            most: defaults::BREAKER_MATCHES,
            window: defaults::BREAKER_WINDOW,
            silence: defaults::BREAKER_SILENCE,
        }
    }
}

impl Config {
    /// The configuration of this home.
    pub fn load(outlive: &Outlive) -> Result<Config, BadConfig> {
        let mut places = vec![outlive.home().root().join(FILE)];
        // A user without a home directory has no configuration there.
        if let Ok(strategy) = etcetera::choose_base_strategy() {
            places.push(strategy.config_dir().join("outlive").join(FILE));
        }
        for file in places {
            if let Some(text) = read(&file)? {
                return Config::parse(&file, &text);
            }
        }
        Ok(Config::default())
    }

    /// Parses the text of a file.
    pub fn parse(file: &Path, text: &str) -> Result<Config, BadConfig> {
        let mut top = Section::parse(file, text)?;
        let config = Config {
            file: Some(file.to_owned()),
            inbox: Inbox::read(&mut top)?,
            watch: Watch::read(&mut top)?,
            breaker: Breaker::read(&mut top)?,
            limits: Limits::read(&mut top)?,
            defaults: jobs::defaults(&mut top)?,
            environment: jobs::environment(&mut top)?,
            retention: retention::read(&mut top)?,
            doorbells: bells::read(&mut top)?,
            places: places::read(&mut top)?,
            mcp: Mcp::read(&mut top)?,
        };
        top.finish()?;
        Ok(config)
    }

    /// Whether an agent may start jobs at this place over MCP.
    pub fn lets_agents_use(&self, place: &str) -> bool {
        match &self.mcp.places {
            Some(places) => places.iter().any(|allowed| allowed == place),
            None => self.places.contains_key(place),
        }
    }

    /// The places where agents may start jobs over MCP.
    pub fn places_of_agents(&self) -> Vec<String> {
        let configured = || self.places.keys().cloned().collect();
        self.mcp.places.clone().unwrap_or_else(configured)
    }

    /// The doorbell of this name.
    pub fn doorbell(&self, name: &str) -> Option<&Bell> {
        self.doorbells
            .iter()
            .find(|bell| bell.name.as_str() == name)
    }
}

impl Inbox {
    fn read(top: &mut Section<'_>) -> Result<Inbox, BadConfig> {
        let mut inbox = Inbox::default();
        if let Some(mut section) = top.section("inbox")? {
            section.positive_duration("claim", &mut inbox.claim)?;
            section.count("attempts", &mut inbox.attempts)?;
            section.duration("keep", &mut inbox.keep)?;
            section.finish()?;
        }
        Ok(inbox)
    }
}

impl Mcp {
    fn read(top: &mut Section<'_>) -> Result<Mcp, BadConfig> {
        let mut mcp = Mcp::default();
        if let Some(mut section) = top.section("mcp")? {
            mcp.places = section.texts_if_given("places", |place| Ok(place.to_owned()))?;
            section.finish()?;
        }
        Ok(mcp)
    }
}

impl Watch {
    fn read(top: &mut Section<'_>) -> Result<Watch, BadConfig> {
        let mut watch = Watch::default();
        if let Some(mut section) = top.section("watch")? {
            section.duration("spacing", &mut watch.spacing)?;
            section.count("strikes", &mut watch.strikes)?;
            section.duration("still", &mut watch.still)?;
            section.finish()?;
        }
        Ok(watch)
    }
}

impl Breaker {
    fn read(top: &mut Section<'_>) -> Result<Breaker, BadConfig> {
        let mut breaker = Breaker::default();
        if let Some(mut section) = top.section("breaker")? {
            section.count("most", &mut breaker.most)?;
            section.positive_duration("window", &mut breaker.window)?;
            section.duration("silence", &mut breaker.silence)?;
            section.finish()?;
        }
        Ok(breaker)
    }
}

impl Limits {
    fn read(top: &mut Section<'_>) -> Result<Limits, BadConfig> {
        let mut limits = Limits::default();
        if let Some(mut section) = top.section("limits")? {
            let mut jobs = 0;
            section.count("jobs_per_session", &mut jobs)?;
            limits.jobs_per_session = Some(jobs).filter(|jobs| *jobs > 0);
            section.finish()?;
        }
        Ok(limits)
    }
}

/// The text of a file; `None` if it does not exist.
fn read(file: &Path) -> Result<Option<String>, BadConfig> {
    let unreadable = |source| BadConfig::Unreadable {
        file: file.to_owned(),
        source,
    };
    // Opening a FIFO would wait for a writer.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut open = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(unreadable)?,
    };
    let metadata = open.metadata().map_err(unreadable)?;
    // It defines commands that run as the user.
    let is_foreign = ![outlive_sys::process::own::user_id(), 0].contains(&metadata.uid());
    if is_foreign || metadata.mode() & 0o002 != 0 {
        return Err(BadConfig::Exposed(file.to_owned()));
    }
    let mut text = String::new();
    open.read_to_string(&mut text).map_err(unreadable)?;
    Ok(Some(text))
}
