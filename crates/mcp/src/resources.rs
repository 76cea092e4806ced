//! The outputs of jobs as resources, for user interfaces: `outlive://jobs/{id}/output`.

use crate::call::Call;
use crate::reply::Refused;
use crate::words;
use outlive::verbs::list::StateFilter;
use outlive::verbs::log::{self, Part};
use outlive::{Job, Look, view};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

const PREFIX: &str = "outlive://jobs/";
const SUFFIX: &str = "/output";
const TYPE: &str = "text/plain";

/// How many ended jobs are listed.
const ENDED: usize = 20;
/// The most bytes of text that are read of one output: its beginning and its end.
const BUDGET: usize = 256 * 1024;

pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{PREFIX}{{id}}{SUFFIX}"), "output")
        .with_title("The output of a job")
        .with_description(
            "The output as text, without credentials; id is the id or the name of a job",
        )
        .with_mime_type(TYPE)
}

/// The outputs of the session's jobs.
pub fn list(call: &Call) -> Result<Vec<Resource>, Refused> {
    let jobs = call.list(StateFilter::All, ENDED)?;
    Ok(jobs.iter().map(resource).collect())
}

fn resource(job: &Job) -> Resource {
    let name = job.name.as_ref().map(ToString::to_string);
    Resource::new(
        format!("{PREFIX}{}{SUFFIX}", job.id),
        name.unwrap_or_else(|| job.id.to_string()),
    )
    .with_title(words::line(job))
    .with_mime_type(TYPE)
    .with_size(job.output.bytes)
}

/// Reads one of them.
pub fn read(call: &Call, uri: &str) -> Result<ResourceContents, Refused> {
    let id = job_of(uri).ok_or_else(|| {
        Refused::no_such_resource(format!(
            "{uri:?} is not a resource of this server; the output of a job is {PREFIX}ID{SUFFIX}"
        ))
    })?;
    let whole = Part::Bytes { from: 0, to: None };
    let log = log::log(&call.outlive, &call.find(id)?, &whole)?;
    let text = log.text(Look::Plain(view::Options {
        budget: BUDGET,
        ..view::Options::default()
    }))?;
    Ok(ResourceContents::text(text.text, uri).with_mime_type(TYPE))
}

/// The job whose output this resource is.
pub fn job_of(uri: &str) -> Option<&str> {
    let id = uri.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outputs_of_jobs_are_resources() {
        for (uri, id) in [
            ("outlive://jobs/1pz/output", Some("1pz")),
            ("outlive://jobs//output", None),
            ("outlive://jobs/a/b/output", None),
            ("outlive://jobs/1pz", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(job_of(uri), id, "{uri}");
        }
    }
}
