//! Jobs as tasks of the extension `io.modelcontextprotocol/tasks`, for clients that declare it.
//!
//! A foreground `run` becomes a task if its job takes longer than the client waits. The task's id is
//! the job's id. The job directory makes the task durable: any later server of the session knows it. A
//! job that fails is a task that has completed, with a result that reports the failure.

use crate::arguments::Given;
use crate::call::Call;
use crate::delivery::Note;
use crate::reply::Refused;
use crate::server::Server;
use crate::tools::run;
use outlive::inbox::all_told;
use outlive::verbs::show;
use outlive::verbs::stop::{self, Stop};
use outlive::{Job, JobId, Timestamp, words};
use rmcp::model::{
    CallToolResult, DetailedTask, ErrorData, GetTaskResult, Task, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The reason recorded for a stop that was requested in this way.
const CANCELLED: &str = "tasks/cancel";
/// The suggested time between two polls of a client.
const POLL_MS: u64 = 2000;

/// How long after its last poll a client counts as one that follows a task.
const FOLLOWED: Duration = Duration::from_millis(3 * POLL_MS);

/// The tasks that clients poll. The poll tells how such a job ended, so nothing else should. This is only in
/// memory: the client of a new server polls nothing.
#[derive(Debug, Default)]
pub struct PolledTasks(Mutex<HashMap<JobId, Instant>>);

impl PolledTasks {
    /// A client has just polled this task, or been given it.
    pub fn polled(&self, id: &JobId) {
        self.lock().insert(id.clone(), Instant::now());
    }

    /// The jobs whose ends a poll will tell.
    pub fn followed(&self) -> Vec<JobId> {
        let mut polled = self.lock();
        polled.retain(|_, at| at.elapsed() < FOLLOWED);
        polled.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a call becomes a task if its job takes too long: only a call that wants to wait for the job.
pub fn is_wanted(tool: &str, given: &Result<Given, Refused>) -> bool {
    let stays = given
        .as_ref()
        .ok()
        .and_then(|given| given.arguments.get("wait_seconds"));
    let stays = stays.and_then(Value::as_f64);
    tool == "run" && stays.is_some_and(|seconds| seconds > 0.0)
}

/// The job that continues after an answer of `run`; `None` if it has ended.
pub fn behind(result: &CallToolResult) -> Option<JobId> {
    let job = result.structured_content.as_ref()?.get("job")?;
    let text = |key: &str| job.get(key).and_then(Value::as_str);
    if text("state")? == "ended" {
        return None;
    }
    JobId::parse(text("id")?).ok()
}

/// The task of a job that continues. Its client polls it from now on.
pub fn begin(call: &Call, id: &JobId) -> Result<Task, Refused> {
    call.tasks.polled(id);
    Ok(task(&show::show(&call.outlive, id)?))
}

fn task(job: &Job) -> Task {
    let written = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let created = written(job.started_at).unwrap_or_default();
    let updated = written(job.ended_at).unwrap_or_else(|| created.clone());
    Task::new(job.id.as_str(), TaskStatus::Working, created, updated)
        .with_status_message(words::outcome(job))
        .with_poll_interval_ms(POLL_MS)
}

/// The state of a task, and the answer if the task has ended.
pub fn get(
    call: &Call,
    id: &str,
) -> Result<(DetailedTask, Option<crate::reply::ToolAnswer>), Refused> {
    let id = call.find(id)?;
    let job = show::show(&call.outlive, &id)?;
    let task = task(&job);
    // Until it is recorded that this answer told the end, no other reply may tell it.
    call.tasks.polled(&id);
    if !job.has_ended() {
        return Ok((DetailedTask::new(task, TaskPayload::Working), None));
    }
    let said = run::ended(call, &job)?;
    let payload = match is_cancelled(&job) {
        true => TaskPayload::Cancelled,
        false => TaskPayload::Completed {
            result: said.content_of_result()?,
        },
    };
    Ok((DetailedTask::new(task, payload), Some(said)))
}

fn is_cancelled(job: &Job) -> bool {
    job.ended_by_detail.as_deref() == Some(CANCELLED)
}

/// Stops the job of a task. The reply tells the caller about its end.
pub fn cancel(call: &Call, id: &str) -> Result<Vec<Note>, Refused> {
    let id = call.find(id)?;
    let how = Stop {
        detail: Some(CANCELLED.to_owned()),
        ..Stop::default()
    };
    let stopped = stop::stop(&call.outlive, &[id], &how)?;
    let told = Note::told(move || all_told(stopped.iter().map(|stopped| &stopped.receipt)));
    Ok(vec![told])
}

/// The error for a task that does not exist for this caller.
pub fn unknown(error: ErrorData) -> ErrorData {
    ErrorData::invalid_params(error.message, None)
}

impl Server {
    /// The state of a task. A caller that gets its result has been told about its end.
    pub(crate) async fn task(
        &self,
        id: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let look = self.look(context, move |call| get(call, &id));
        let (task, said) = look.await.map_err(unknown)?;
        if let Some(said) = said {
            self.deliver(context, said.told.notes);
        }
        Ok(GetTaskResult::new(task))
    }
}
