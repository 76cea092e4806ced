//! Jobs as structured content. Every answer is given in the brief form of the contract.

use crate::call::Call;
use crate::reply::Refused;
use outlive::verbs::show;
use outlive::words::{cut, one_line};
use outlive::{Cursor, Job};
use schemars::JsonSchema;
use serde::Serialize;

/// How many lines of output a glance at a job shows.
pub const PREVIEW: u64 = 20;

/// The most characters of a command where the job is only to be recognised. With it, a job in a list takes about
/// forty tokens.
const MAX_COMMAND: usize = 36;
/// The same if the job has a name, by which it is recognised too.
const MAX_NAMED_COMMAND: usize = 24;
/// The most characters of a command where the job is described.
const MAX_WHOLE_COMMAND: usize = 4000;

/// A job with a glance at its output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Glance {
    #[serde(flatten)]
    pub job: Job,
    /// The end of its output
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preview: String,
    /// `log` with this cursor gives what it writes from now on
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

impl Glance {
    /// The job as one of a list.
    pub fn at(call: &Call, job: &Job) -> Result<Glance, Refused> {
        Glance::with(call, recognisable(call, job))
    }

    pub fn at_all(call: &Call, jobs: &[Job]) -> Result<Vec<Glance>, Refused> {
        jobs.iter().map(|job| Glance::at(call, job)).collect()
    }

    /// The job with its whole command.
    pub fn in_detail(call: &Call, job: &Job) -> Result<Glance, Refused> {
        let command = cut(&job.command, MAX_WHOLE_COMMAND);
        let job = Job {
            command,
            ..recognisable(call, job)
        };
        Glance::with(call, job)
    }

    fn with(call: &Call, job: Job) -> Result<Glance, Refused> {
        Ok(Glance {
            preview: show::preview_of(&call.outlive, &job, PREVIEW)?,
            // How much a job has written that is not reached is not known.
            cursor: (!job.has_ended() && job.unreachable.is_none())
                .then_some(Cursor(job.output.bytes)),
            job,
        })
    }
}

/// A job as one of a list: enough to recognise it, without the session of the caller. Contains no secrets.
pub fn recognisable(call: &Call, job: &Job) -> Job {
    let session = job.session.clone();
    let most = match job.name {
        Some(_) => MAX_NAMED_COMMAND,
        None => MAX_COMMAND,
    };
    Job {
        command: cut(&one_line(&job.command), most),
        session: session.filter(|session| *session != call.session),
        // After the end, another process may have the number.
        pid: job.pid.filter(|_| !job.has_ended()),
        ..job.clone()
    }
}
