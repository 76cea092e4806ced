//! Jobs as structured content. Every answer is given in the brief form of the contract.

use crate::call::Call;
use crate::reply::Refused;
use outlive::verbs::show;
use outlive::{Cursor, Job};
use schemars::JsonSchema;
use serde::Serialize;

/// How many lines of output a glance at a job shows.
pub const PREVIEW: u64 = 20;

/// A job with a glance at its output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Glance {
    #[serde(flatten)]
    pub job: Job,
    /// The end of its output
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preview: String,
    /// `log` with this cursor gives what it writes from now on
    pub cursor: Cursor,
}

impl Glance {
    pub fn at(call: &Call, job: &Job) -> Result<Glance, Refused> {
        Ok(Glance {
            job: job.clone(),
            preview: show::preview(&call.outlive, &job.id, PREVIEW)?,
            cursor: Cursor(job.output.bytes),
        })
    }

    pub fn at_all(call: &Call, jobs: &[Job]) -> Result<Vec<Glance>, Refused> {
        jobs.iter().map(|job| Glance::at(call, job)).collect()
    }
}
