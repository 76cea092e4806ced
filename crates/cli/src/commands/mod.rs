//! One verb, one file: its arguments, its call, its words.

pub mod attach;
pub mod completions;
pub mod detach;
pub mod doctor;
pub mod doorbell;
pub mod list;
pub mod log;
pub mod man;
pub mod prune;
pub mod resize;
pub mod run;
pub mod send;
pub mod show;
pub mod signal;
pub mod stop;
pub mod wait;

use outlive::units;
use std::time::Duration;

/// For clap: a duration argument.
pub fn duration(text: &str) -> Result<Duration, units::BadUnit> {
    units::parse_duration(text)
}

/// For clap: a size argument.
pub fn size(text: &str) -> Result<u64, units::BadUnit> {
    units::parse_size(text)
}
