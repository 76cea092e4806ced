//! Jobs as tasks of the extension `io.modelcontextprotocol/tasks`, for clients that declare it.
//!
//! A foreground `run` whose job is not over when the client's patience is becomes a task; its id is the
//! job's. The job directory is what makes it durable: any later server of the session knows the task.
//! A job that fails is a task that has completed: failing is what its result tells.

use crate::call::Call;
use crate::delivery::Note;
use crate::reply::Refused;
use crate::server::Server;
use crate::tools::run;
use outlive::verbs::show;
use outlive::verbs::stop::{self, Stop};
use outlive::{Job, Timestamp, words};
use rmcp::model::{
    CallToolResult, DetailedTask, ErrorData, GetTaskResult, JsonObject, Task, TaskPayload,
    TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

/// What is said of a stop that was asked for in this way.
const CANCELLED: &str = "tasks/cancel";
/// Between two looks of a client that has nothing better to do.
const POLL_MS: u64 = 2000;

/// Whether a call is to become a task if its job is not over in time: one that wants to stay with it.
pub fn is_wanted(tool: &str, arguments: &JsonObject) -> bool {
    let stays = arguments.get("wait_seconds").and_then(Value::as_f64);
    tool == "run" && stays.is_some_and(|seconds| seconds > 0.0)
}

/// The task that goes on behind an answer of `run`; none once its job has ended.
pub fn behind(result: &CallToolResult) -> Option<Task> {
    let job = result.structured_content.as_ref()?.get("job")?;
    let text = |key: &str| job.get(key).and_then(Value::as_str);
    if text("state")? == "ended" {
        return None;
    }
    let since = text("started_at").unwrap_or_default();
    Some(
        Task::new(text("id")?, TaskStatus::Working, since, since)
            .with_status_message("it runs")
            .with_poll_interval_ms(POLL_MS),
    )
}

/// A task now, and the answer that tells its end.
pub fn get(call: &Call, id: &str) -> Result<(DetailedTask, Option<crate::reply::Said>), Refused> {
    let id = call.find(id)?;
    let job = show::show(&call.outlive, &id)?;
    let written = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let created = written(job.started_at).unwrap_or_default();
    let updated = written(job.ended_at).unwrap_or_else(|| created.clone());
    let task = Task::new(id.as_str(), TaskStatus::Working, created, updated)
        .with_status_message(words::outcome(&job))
        .with_poll_interval_ms(POLL_MS);
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

/// Stops the job of a task. Whoever cancels it knows of its end once that is answered.
pub fn cancel(call: &Call, id: &str) -> Result<Vec<Note>, Refused> {
    let id = call.find(id)?;
    let how = Stop {
        detail: Some(CANCELLED.to_owned()),
        ..Stop::default()
    };
    let stopped = stop::stop(&call.outlive, &[id], &how)?;
    let told: Note = Box::new(move || {
        let mut stopped = stopped.iter();
        stopped.try_for_each(|stopped| stopped.receipt.told())
    });
    Ok(vec![told])
}

/// There is no such task, for whoever asks.
pub fn unknown(error: ErrorData) -> ErrorData {
    ErrorData::invalid_params(error.message, None)
}

impl Server {
    /// A task now. Who is given its result has been told of its end.
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
