//! The limits that a job may be given, and how they are enforced.

use crate::request::{BadSetting, Run};
use serde::{Deserialize, Serialize};

/// Limits on what a job may use. What is not set has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Memory of all its processes together, without swap. If they need more, the whole job is killed. 0 means no
    /// limit, also where the configuration sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processors' worth of time of all its processes together; 1.5 is one and a half processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    /// Processes and threads at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u32>,
    /// Its nice value, from -20 (first) to 19 (last).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
}

/// A number of processors, to a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "f64"))]
#[serde(try_from = "f64", into = "f64")]
pub struct Cpus {
    thousandths: u32,
}

/// Not a number of processors.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a number of processors; give a number from 0.01 to 100000, such as 1.5")]
pub struct BadCpus(f64);

impl Cpus {
    /// Fails for a number that no kernel accepts.
    pub fn new(number: f64) -> Result<Cpus, BadCpus> {
        match (0.01..=100_000.0).contains(&number) {
            true => Ok(Cpus {
                thousandths: (number * 1000.0).round() as u32,
            }),
            false => Err(BadCpus(number)),
        }
    }

    /// The time in microseconds that this is of a period in microseconds.
    pub fn of_period(self, period_us: u64) -> u64 {
        u64::from(self.thousandths) * period_us / 1000
    }
}

impl TryFrom<f64> for Cpus {
    type Error = BadCpus;

    fn try_from(number: f64) -> Result<Cpus, BadCpus> {
        Cpus::new(number)
    }
}

impl From<Cpus> for f64 {
    fn from(cpus: Cpus) -> f64 {
        f64::from(cpus.thousandths) / 1000.0
    }
}

/// The smallest limit of memory. With less, hardly any program could be executed.
pub const MIN_MEMORY: u64 = 1 << 20;
/// The values that the kernel accepts for `nice`.
pub const NICE: std::ops::RangeInclusive<i32> = -20..=19;

/// A limit that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLimit {
    /// Too little memory.
    #[error("{0} bytes is too small for the memory limit; give at least {MIN_MEMORY} bytes (1M)")]
    Memory(u64),
    /// No process at all.
    #[error("the limit of processes must be at least 1")]
    Pids,
    /// Not a nice value.
    #[error("{0} is not a nice value; give a number from -20 to 19")]
    Nice(i32),
}

impl Limits {
    /// Whether there is no limit.
    pub fn is_none(&self) -> bool {
        *self == Limits::default()
    }

    /// Whether a control group is of use for them.
    pub fn want_group(&self) -> bool {
        self.memory_bytes.is_some() || self.cpus.is_some() || self.pids.is_some()
    }

    /// Checks what no type rules out.
    pub fn check(&self) -> Result<(), BadLimit> {
        match *self {
            Limits {
                memory_bytes: Some(bytes),
                ..
            } if (1..MIN_MEMORY).contains(&bytes) => Err(BadLimit::Memory(bytes)),
            Limits { pids: Some(0), .. } => Err(BadLimit::Pids),
            Limits {
                nice: Some(nice), ..
            } if !NICE.contains(&nice) => Err(BadLimit::Nice(nice)),
            _ => Ok(()),
        }
    }

    pub(crate) fn refusal(&self) -> Result<(), BadSetting> {
        self.check().map_err(BadSetting::Limit)
    }
}

/// The limits of a job, and how they are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobLimits {
    /// What was asked for.
    #[serde(flatten)]
    pub asked: Limits,
    /// How they are enforced. Absent as long as it is not decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced_by: Option<EnforcedBy>,
}

/// The mechanism that enforces limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EnforcedBy {
    /// A control group of version 2: memory, processors and processes of the job as a whole.
    CgroupV2,
    /// Control groups of version 1: the same.
    CgroupV1,
    /// Limits of each process: `memory_bytes` limits the address space of each one alone, and a process that
    /// wants more gets an error.
    Process,
}

impl Run {
    /// Limits the memory of all its processes together. If they need more, the job is killed.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Run {
        self.limits.memory_bytes = Some(bytes);
        self
    }

    /// Limits the processor time of all its processes together, in processors. A number that cannot be used is
    /// refused when the job is started.
    #[must_use]
    pub fn cpus(mut self, number: f64) -> Run {
        match Cpus::new(number) {
            Ok(cpus) => self.limits.cpus = Some(cpus),
            Err(reason) => self.refuse_setting(BadSetting::Cpus(reason.to_string())),
        }
        self
    }

    /// Limits how many processes and threads it has at the same time.
    #[must_use]
    pub fn pids(mut self, number: u32) -> Run {
        self.limits.pids = Some(number);
        self
    }

    /// Its nice value, from -20 (first) to 19 (last).
    #[must_use]
    pub fn nice(mut self, value: i32) -> Run {
        self.limits.nice = Some(value);
        self
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_processors_may_have_fractions() {
        let half = Cpus::new(1.5).unwrap();
        assert_eq!(half.of_period(100_000), 150_000);
        assert_eq!(serde_json::to_string(&half).unwrap(), "1.5");
        assert_eq!(serde_json::from_str::<Cpus>("1.5").unwrap(), half);
        for bad in [0.0, -1.0, 0.001, f64::NAN, f64::INFINITY] {
            assert!(Cpus::new(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<Cpus>("0").is_err());
    }

    #[test]
    fn a_limit_that_no_kernel_accepts_is_refused() {
        let check = |run: Run| run.check().map_err(|bad| bad.to_string());
        let run = || Run::shell("make");
        assert_eq!(check(run().memory(MIN_MEMORY).nice(19).pids(1)), Ok(()));
        for (bad, word) in [
            (run().memory(4096), "1M"),
            (run().nice(20), "-20 to 19"),
            (run().pids(0), "at least 1"),
            (run().cpus(0.0), "1.5"),
        ] {
            let error = check(bad).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn limits_that_are_not_set_are_not_written() {
        assert_eq!(serde_json::to_string(&Limits::default()).unwrap(), "{}");
        let limits = JobLimits {
            asked: Limits {
                pids: Some(3),
                ..Limits::default()
            },
            enforced_by: Some(EnforcedBy::CgroupV1),
        };
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(text, r#"{"pids":3,"enforced_by":"cgroup_v1"}"#);
    }
}
