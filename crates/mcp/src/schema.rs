//! JSON Schemas that every client accepts.
//!
//! Some validators and model providers reject integer formats, `type: [x, "null"]` and references. So
//! these schemas use none of them: optional members are absent instead of null, and nested types are
//! written inline.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Map<String, Value> {
    portable(SchemaSettings::draft2020_12().for_deserialize(), |g| {
        g.into_root_schema_for::<T>().to_value()
    })
}

/// The schema of a tool's answer, and of the events that may come with it.
pub fn output<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = portable(SchemaSettings::draft2020_12().for_serialize(), |g| {
        g.into_root_schema_for::<T>().to_value()
    });
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.entry("events").or_insert_with(events);
    }
    schema
}

/// The schema of events.
fn events() -> Value {
    json!({
        "type": "array",
        "description": "What this session had not been told yet, each once",
        "items": {
            "type": "object",
            "properties": {
                "event": {"type": "string", "description": "Its id"},
                "kind": {"type": "string"},
                "job": {"type": "string"},
                "session": {"type": "string"},
                "task": {"type": "string"},
                "at": {"type": "string"},
                "attempt": {"type": "integer"},
                "data": {"type": "object"},
                "text": {"type": "string", "description": "What to read"},
            },
            "required": ["event", "kind", "job", "text"],
        },
    })
}

fn portable(
    mut settings: SchemaSettings,
    generate: impl FnOnce(schemars::SchemaGenerator) -> Value,
) -> Map<String, Value> {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut value = generate(settings.into_generator());
    simplify(&mut value);
    match value {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema.entry("type").or_insert_with(|| json!("object"));
            schema
        }
        _ => Map::new(),
    }
}

/// Removes everything from a schema that some clients reject.
fn simplify(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(simplify),
        Value::Object(schema) => {
            without_null(schema);
            let is_number = matches!(
                schema.get("type").and_then(Value::as_str),
                Some("integer" | "number")
            );
            if is_number {
                schema.remove("format");
            }
            if schema.get("default") == Some(&Value::Null) {
                schema.remove("default");
            }
            schema.values_mut().for_each(simplify);
        }
        _ => {}
    }
}

/// A member that may be null may also be absent, so the schema describes it as absent.
fn without_null(schema: &mut Map<String, Value>) {
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

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Sample {
        number: u64,
        maybe: Option<u64>,
        inner: Option<Inner>,
        choice: Option<Choice>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Inner {
        text: Option<String>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is wanted")]
    enum Choice {
        One,
        Two,
    }

    #[test]
    fn an_optional_member_has_a_single_type() {
        let schema = Value::Object(input::<Sample>());
        assert_eq!(schema["properties"]["maybe"]["type"], "integer");
        assert_eq!(schema["properties"]["maybe"].get("format"), None);
        assert_eq!(schema["properties"]["inner"]["type"], "object");
        assert_eq!(
            schema["properties"]["inner"]["properties"]["text"]["type"],
            "string"
        );
        assert_eq!(
            schema["properties"]["choice"]["enum"],
            json!(["one", "two"])
        );
        assert_eq!(schema["required"], json!(["number"]));
    }
}
