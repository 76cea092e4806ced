//! The brief form of a reply, for models: without nulls, without fields that have their default value, and
//! without fields that only programs need.
//!
//! Both the value and its JSON Schema are derived from the full form. A field for programs only is marked in its
//! type with `#[schemars(extend("x-programs-only" = true))]`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

/// The mark of a field that only programs need.
const PROGRAMS_ONLY: &str = "x-programs-only";
/// Where a schema has alternatives or parts.
const COMBINATIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The brief form of a reply.
pub fn value<T: Serialize + JsonSchema>(reply: &T) -> serde_json::Result<Value> {
    let full = serde_json::to_value(reply)?;
    Ok(shorten(full, &[&full_schema::<T>()]))
}

/// The schema of the brief form.
pub fn schema<T: JsonSchema>() -> Value {
    let mut schema = full_schema::<T>();
    shorten_schema(&mut schema);
    schema
}

/// The schema of the full form, each type where it is used.
fn full_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let generator = settings.into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

fn shorten(value: Value, schemas: &[&Value]) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, field) in fields {
                let schemas = children(schemas, |schema| schema.get("properties")?.get(&name));
                let is_left_out = |schema: &&Value| {
                    is_for_programs(schema) || schema.get("default") == Some(&field)
                };
                if !field.is_null() && !schemas.iter().any(is_left_out) {
                    kept.insert(name, shorten(field, &schemas));
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let schemas = children(schemas, |schema| schema.get("items"));
            let items = items.into_iter().map(|item| shorten(item, &schemas));
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

fn is_for_programs(schema: &Value) -> bool {
    schema.get(PROGRAMS_ONLY) == Some(&Value::Bool(true))
}

fn shorten_schema(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(shorten_schema),
        Value::Object(schema) => {
            shorten_properties(schema);
            schema.remove("default");
            remove_null(schema);
            schema.values_mut().for_each(shorten_schema);
        }
        _ => {}
    }
}

/// Removes the properties that are for programs only, and requires only those that are always there.
fn shorten_properties(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    properties.retain(|_, property| !is_for_programs(property));
    let optional: Vec<String> = properties
        .iter()
        .filter(|(_, property)| property.get("default").is_some() || allows_null(property))
        .map(|(name, _)| name.clone())
        .collect();
    let names: Vec<String> = properties.keys().cloned().collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        let is = |names: &[String], name: &Value| names.iter().any(|known| name == known);
        required.retain(|name| is(&names, name) && !is(&optional, name));
    }
}

fn allows_null(schema: &Value) -> bool {
    let is_null = |name: &Value| name == "null";
    let by_type = match &schema["type"] {
        Value::Array(types) => types.iter().any(is_null),
        name => is_null(name),
    };
    let alternatives = schema["anyOf"].as_array();
    by_type || alternatives.is_some_and(|all| all.iter().any(allows_null))
}

/// A value that may be null may as well be absent. Removes `null` from what a schema allows.
pub fn remove_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = schema.get("anyOf") else {
        return;
    };
    let some: Vec<Value> = choices
        .iter()
        .filter(|choice| choice["type"] != "null")
        .cloned()
        .collect();
    if let [Value::Object(only)] = some.as_slice() {
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert_with(|| value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::job::Job;
    use serde_json::json;

    fn job() -> Job {
        serde_json::from_value(json!({
            "id": "x", "name": null, "session": null, "task": "t", "place": "local", "command": "make",
            "argv": ["make"], "cwd": "/", "pty": false, "state": "ended", "pid": null,
            "started_at": "2026-11-15T08:00:00.123Z", "ended_at": null, "duration_ms": 5,
            "outcome": {"kind": "signaled", "signal": "SIGKILL", "core_dumped": false},
            "exit_code": 137, "ended_by": "stop", "lingering": 0,
            "output": {"bytes": 5, "dropped_bytes": 0, "complete": true, "path": "/o"},
            "awaiting_input": false, "ready": null, "usage": null,
        }))
        .expect("a job")
    }

    #[test]
    fn a_job_for_models_has_only_what_they_need() {
        assert_eq!(
            value(&job()).expect("JSON"),
            json!({
                "id": "x", "command": "make", "cwd": "/", "pty": false, "state": "ended",
                "started_at": "2026-11-15T08:00:00.123Z", "duration_ms": 5,
                "outcome": {"kind": "signaled", "signal": "SIGKILL"},
                "exit_code": 137, "ended_by": "stop", "lingering": 0,
                "output": {"bytes": 5, "dropped_bytes": 0}, "awaiting_input": false,
            })
        );
    }

    /// Every property of the value is in the schema, and every required one is in the value.
    #[test]
    fn the_schema_fits_the_value() {
        let (schema, value) = (schema::<Job>(), value(&job()).expect("JSON"));
        for name in value.as_object().expect("an object").keys() {
            assert!(schema["properties"].get(name).is_some(), "{name}: {schema}");
        }
        for name in schema["required"].as_array().expect("names") {
            let name = name.as_str().expect("a name");
            assert!(value.get(name).is_some(), "{name}: {value}");
        }
        let text = format!("{schema}{}", super::schema::<Event>());
        for word in ["null", PROGRAMS_ONLY, "argv", "\"path\"", "\"default\""] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}
