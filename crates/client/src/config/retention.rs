//! `[retention]`: when ended jobs are removed by themselves.

use super::error::BadConfig;
use super::section::Section;
use outlive_core::defaults;
use std::time::Duration;

/// Which ended jobs are removed by themselves. A limit of zero does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Whether any are.
    pub enabled: bool,
    /// Those that ended longer ago than this.
    pub age: Duration,
    /// All but this many.
    pub jobs: u32,
    /// The oldest, while all together use more than this many bytes.
    pub size: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention {
            enabled: true,
            age: defaults::RETAIN_AGE,
            jobs: defaults::RETAIN_JOBS,
            size: defaults::RETAIN_SIZE,
        }
    }
}

pub fn read(top: &mut Section<'_>) -> Result<Retention, BadConfig> {
    let mut retention = Retention::default();
    if let Some(mut section) = top.section("retention")? {
        if let Some(enabled) = section.flag("enabled")? {
            retention.enabled = enabled;
        }
        section.duration("age", &mut retention.age)?;
        section.number("jobs", &mut retention.jobs)?;
        section.size("size", &mut retention.size)?;
        section.finish()?;
    }
    Ok(retention)
}
