//! Says when ended jobs are removed by themselves.

use super::{Check, Verdict};
use crate::config::{Config, Retention};
use outlive_core::units::{show_duration, show_size};
use std::borrow::Cow;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;

pub fn check(config: Option<&Config>) -> Check {
    let (found, means) = match config {
        Some(config) => of(&config.retention),
        None => (
            "unknown".to_owned(),
            Cow::from("the configuration cannot be read, and until it can, nothing is removed"),
        ),
    };
    Check {
        name: "retention".into(),
        verdict: Verdict::Good,
        found,
        means,
    }
}

fn of(retention: &Retention) -> (String, Cow<'static, str>) {
    let age =
        (!retention.age.is_zero()).then(|| format!("{} after their end", days(retention.age)));
    let jobs = (retention.jobs > 0).then(|| format!("beyond the newest {} jobs", retention.jobs));
    let size = (retention.size > 0).then(|| format!("beyond {}", show_size(retention.size)));
    let limits: Vec<String> = [age, jobs, size].into_iter().flatten().collect();
    if !retention.enabled || limits.is_empty() {
        return (
            "off".to_owned(),
            "only `outlive prune` removes ended jobs, so the home may grow for ever".into(),
        );
    }
    (
        limits.join(", or "),
        "such ended jobs are removed by themselves, but none of the last day, and none whose end was not told".into(),
    )
}

fn days(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds > 0 && seconds % DAY == 0 => format!("{} days", seconds / DAY),
        _ => show_duration(time),
    }
}
