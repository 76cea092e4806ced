//! Jobs as structured content: the interface's JSON, without what is absent and what no agent needs.

use crate::call::Call;
use crate::reply::Refused;
use outlive::verbs::show;
use outlive::{Cursor, Job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many lines of output a glance at a job shows.
pub const PREVIEW: u64 = 20;

/// A job, secrets left out.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct JobAnswer {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub command: String,
    pub cwd: String,
    pub pty: bool,
    /// starting, waiting (for a lock), running, stopping, ended, or unreachable (kept on another host)
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How it ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeAnswer>,
    /// As a shell would give it; absent while it runs, and where it is unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// itself, stop, timeout, memory, signal, place or unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Processes it left behind, which `stop` still reaches
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lingering: Option<u32>,
    pub output: OutputAnswer,
    /// Absent where its keeper did not say
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaiting_input: Option<bool>,
    /// What it waits for: line, password, keys or data
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Lines that matched its watch
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<u64>,
    /// Why it cannot be reached from here
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<UnreachableAnswer>,
    /// Its keeper did not answer in time: it may be suspended
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeper_silent: bool,
}

/// Why a job cannot be reached.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct UnreachableAnswer {
    /// The host that keeps it
    pub host: String,
    pub reason: String,
}

/// How a job ended.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct OutcomeAnswer {
    /// exited, signaled, not_started or lost
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a job has written.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct OutputAnswer {
    pub bytes: u64,
    /// Of these, so many were not kept
    pub dropped_bytes: u64,
}

impl JobAnswer {
    pub fn of(job: &Job) -> Result<JobAnswer, Refused> {
        let value = serde_json::to_value(job)?;
        Ok(serde_json::from_value(value)?)
    }

    pub fn all(jobs: &[Job]) -> Result<Vec<JobAnswer>, Refused> {
        jobs.iter().map(JobAnswer::of).collect()
    }
}

/// A job with a glance at its output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Glance {
    #[serde(flatten)]
    pub job: JobAnswer,
    /// The end of its output
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preview: String,
    /// `log` with this cursor gives what it writes from now on
    pub cursor: String,
}

impl Glance {
    pub fn at(call: &Call, job: &Job) -> Result<Glance, Refused> {
        Ok(Glance {
            job: JobAnswer::of(job)?,
            preview: show::preview(&call.outlive, &job.id, PREVIEW)?,
            cursor: Cursor(job.output.bytes).to_string(),
        })
    }

    pub fn at_all(call: &Call, jobs: &[Job]) -> Result<Vec<Glance>, Refused> {
        jobs.iter().map(|job| Glance::at(call, job)).collect()
    }
}
