//! The brief form of a reply, for models: without nulls, without fields that have their usual value, and
//! without fields that only programs need. Each word of it costs whoever reads it.
//!
//! It is derived from the full form, by marks in its types:
//!
//! | mark: `#[schemars(extend("…" = …))]` | the field is left out |
//! |---|---|
//! | `"x-programs-only" = true` | always |
//! | `"x-in-detail" = true` | unless the reply is about one job ([`Detail::Full`]) |
//! | `"x-usual" = [value, …]` | if it has one of these values; an object may have further members |
//!
//! A field with the default of its type is left out too.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

/// The mark of a field that only programs need.
const PROGRAMS_ONLY: &str = "x-programs-only";
/// The mark of a field that is worth its words only in a reply about one job.
const IN_DETAIL: &str = "x-in-detail";
/// The mark of a field with values that say nothing new.
const USUAL: &str = "x-usual";
/// Where a schema has alternatives or parts.
const COMBINATIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// How much a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What a list says of each of its jobs.
    Line,
    /// What is known of one job.
    Full,
}

/// The brief form of a reply.
pub fn value<T: Serialize + JsonSchema>(reply: &T, detail: Detail) -> serde_json::Result<Value> {
    let full = serde_json::to_value(reply)?;
    Ok(shorten(full, &[&schema::<T>()], detail))
}

/// The schema of the full form, each type where it is used.
fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let generator = settings.into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

fn shorten(value: Value, schemas: &[&Value], detail: Detail) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, field) in fields {
                let schemas = children(schemas, |schema| schema.get("properties")?.get(&name));
                let is_left_out = |schema: &&Value| is_left_out(schema, &field, detail);
                if !field.is_null() && !schemas.iter().any(is_left_out) {
                    kept.insert(name, shorten(field, &schemas, detail));
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let schemas = children(schemas, |schema| schema.get("items"));
            let items = items
                .into_iter()
                .map(|item| shorten(item, &schemas, detail));
            Value::Array(items.collect())
        }
        other => other,
    }
}

/// What `find` finds in these schemas, their parts and their alternatives.
fn children<'a>(
    schemas: &[&'a Value],
    find: impl Fn(&'a Value) -> Option<&'a Value>,
) -> Vec<&'a Value> {
    let mut all = schemas.to_vec();
    let mut next = 0;
    while let Some(schema) = all.get(next).copied() {
        let parts = COMBINATIONS.iter().filter_map(|key| schema.get(key));
        all.extend(parts.filter_map(Value::as_array).flatten());
        next += 1;
    }
    all.into_iter().filter_map(find).collect()
}

fn is_left_out(schema: &Value, field: &Value, detail: Detail) -> bool {
    let is_marked = |mark: &str| schema.get(mark) == Some(&Value::Bool(true));
    let usual = schema.get(USUAL).and_then(Value::as_array);
    is_marked(PROGRAMS_ONLY)
        || (is_marked(IN_DETAIL) && detail == Detail::Line)
        || schema.get("default") == Some(field)
        || usual.is_some_and(|usual| usual.iter().any(|usual| is_as(field, usual)))
}

/// Whether a field has this value. An object may have further members.
fn is_as(field: &Value, usual: &Value) -> bool {
    match (field, usual) {
        (Value::Object(field), Value::Object(usual)) => usual
            .iter()
            .all(|(name, value)| field.get(name).is_some_and(|field| is_as(field, value))),
        _ => field == usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::job::Job;
    use serde_json::json;

    fn job(more: Value) -> Job {
        let mut job = json!({
            "id": "x", "name": null, "session": null, "task": "t", "place": "local", "command": "make",
            "argv": ["make"], "cwd": "/", "pty": false, "state": "ended", "pid": null,
            "started_at": "2026-11-15T08:00:00.123Z", "ended_at": null, "duration_ms": 5,
            "outcome": {"kind": "signaled", "signal": "SIGKILL", "core_dumped": false},
            "exit_code": 137, "ended_by": "stop", "lingering": 0,
            "output": {"bytes": 5, "dropped_bytes": 0, "complete": true, "path": "/o"},
            "awaiting_input": false, "ready": null, "usage": null,
        });
        for (key, value) in more.as_object().expect("an object") {
            job[key] = value.clone();
        }
        serde_json::from_value(job).expect("a job")
    }

    fn line(job: &Job) -> Value {
        value(job, Detail::Line).expect("JSON")
    }

    #[test]
    fn a_job_in_a_list_has_only_what_a_model_needs() {
        assert_eq!(
            line(&job(json!({}))),
            json!({
                "id": "x", "command": "make", "state": "ended", "duration_ms": 5,
                "exit_code": 137, "ended_by": "stop",
            })
        );
        let exited = json!({
            "outcome": {"kind": "exited", "code": 0}, "exit_code": 0, "ended_by": "itself",
        });
        assert_eq!(
            line(&job(exited)),
            json!({"id": "x", "command": "make", "state": "ended", "duration_ms": 5, "exit_code": 0})
        );
    }

    #[test]
    fn what_is_unusual_is_said_in_a_list_too() {
        let unusual = json!({
            "outcome": {"kind": "lost", "reason": "nobody saw it"}, "exit_code": null,
            "ended_by": "unknown", "lingering": 2, "awaiting_input": true, "pty": true,
            "output": {"bytes": 5, "dropped_bytes": 3, "complete": false, "path": "/o"},
        });
        let line = line(&job(unusual));
        assert_eq!(
            line["outcome"],
            json!({"kind": "lost", "reason": "nobody saw it"})
        );
        assert_eq!(line["lingering"], 2);
        assert_eq!(line["awaiting_input"], true);
        let output = json!({"bytes": 5, "dropped_bytes": 3, "complete": false});
        assert_eq!(line["output"], output);
    }

    #[test]
    fn a_job_by_itself_has_details() {
        let running = json!({"state": "running", "pid": 7, "outcome": null, "exit_code": null,
            "ended_by": null});
        assert_eq!(
            value(&job(running), Detail::Full).expect("JSON"),
            json!({
                "id": "x", "command": "make", "cwd": "/", "state": "running", "pid": 7,
                "started_at": "2026-11-15T08:00:00.123Z", "duration_ms": 5,
            })
        );
    }

    #[test]
    fn an_event_is_its_id_its_kind_and_its_text() {
        let event = json!({
            "event": "x:7.k3f9x2", "kind": "ended", "job": "x", "session": "s", "attempt": 1,
            "at": "2026-11-15T08:00:00.123Z", "data": {"exit_code": 0}, "text": "Job x has ended.",
        });
        let mut event: Event = serde_json::from_value(event).expect("an event");
        let brief = json!({"event": "x:7.k3f9x2", "kind": "ended", "text": "Job x has ended."});
        assert_eq!(value(&event, Detail::Line).expect("JSON"), brief);
        event.attempt = 2;
        assert_eq!(value(&event, Detail::Line).expect("JSON")["attempt"], 2);
    }
}
