//! What changes all the time of the jobs that a page shows. This is the only subscription with an interval, and it lasts
//! only as long as the page shows these jobs.

use super::Cut;
use super::flow::Flow;
use super::message::OfSamples;
use crate::server::on_a_thread;
use crate::visit::Visit;
use outlive::api::input::InputKind;
use outlive::api::job::JobState;
use outlive::api::outcome::Usage;
use outlive::verbs::show;
use outlive::{Job, JobId, Outlive, Timestamp, clock};
use serde::Serialize;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(1);

/// The most jobs of one subscription. A page shows fewer.
const MAX_JOBS: usize = 200;

#[derive(Serialize)]
struct Samples {
    at: Timestamp,
    jobs: Vec<Sample>,
}

#[derive(Serialize)]
struct Sample {
    id: JobId,
    state: JobState,
    bytes: u64,
    awaiting_input: Option<bool>,
    input_kind: Option<InputKind>,
    suspended: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

impl From<Job> for Sample {
    fn from(job: Job) -> Sample {
        Sample {
            id: job.id,
            state: job.state,
            bytes: job.output.bytes,
            awaiting_input: job.awaiting_input,
            input_kind: job.input_kind,
            suspended: job.suspended,
            usage: job.usage,
        }
    }
}

pub async fn follow(visit: Visit, asked: OfSamples, flow: Flow) -> Result<(), Cut> {
    let mut flow = flow.one_by_one();
    let jobs: Vec<JobId> = asked.jobs.into_iter().take(MAX_JOBS).collect();
    loop {
        flow.room().await?;
        let (outlive, jobs) = (visit.outlive.clone(), jobs.clone());
        let samples = on_a_thread(move || Ok(look(&outlive, &jobs, asked.usage))).await?;
        flow.send(&samples).await?;
        let is_over = |sample: &Sample| sample.state == JobState::Ended;
        if samples.jobs.iter().all(is_over) {
            return Ok(());
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Jobs that cannot be read are left out.
fn look(outlive: &Outlive, jobs: &[JobId], usage: bool) -> Samples {
    let show = |id: &JobId| match usage {
        true => show::with_usage(outlive, id).ok(),
        false => show::show(outlive, id).ok(),
    };
    Samples {
        at: clock::wall().into(),
        jobs: jobs.iter().filter_map(show).map(Sample::from).collect(),
    }
}
