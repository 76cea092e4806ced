//! One file for each verb: its arguments, its call, its text.

pub mod adopt;
pub mod after;
pub mod attach;
pub mod completions;
pub mod courier;
pub mod detach;
pub mod doctor;
pub mod doorbell;
pub mod hook;
pub mod inbox;
pub mod label;
pub mod list;
pub mod log;
pub mod man;
pub mod mcp;
pub mod place;
pub mod post;
pub mod prune;
pub mod resize;
pub mod rpc;
pub mod run;
mod select;
pub mod send;
pub mod serve;
pub mod session;
pub mod setup;
pub mod show;
pub mod signal;
pub mod stop;
pub mod tunnel;
pub mod wait;
pub mod watch;

use outlive::units;
use std::time::Duration;

/// For clap: a duration argument.
pub fn duration(text: &str) -> Result<Duration, units::BadUnit> {
    units::parse_duration(text)
}

/// For clap: a duration that must not be 0.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(time) if time.is_zero() => Err("it must be longer than 0".to_owned()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// For clap: a size argument.
pub fn size(text: &str) -> Result<u64, units::BadUnit> {
    units::parse_size(text)
}

/// Whether secrets are shown. It is the owner's own terminal, so they are unless asked otherwise.
#[derive(Debug, clap::Args)]
pub struct Secrets {
    /// Leave out what looks like a credential
    #[arg(long, overrides_with = "no_redact")]
    pub redact: bool,
    /// Show credentials as they are (the default)
    #[arg(long)]
    no_redact: bool,
}
