//! JSON Schemas that every client accepts.
//!
//! Some validators and model providers reject integer formats, `type: [x, "null"]` and references. So
//! these schemas use none of them: optional members are absent instead of null, and nested types are
//! written inline.
//!
//! Every word of a schema is in the context of every model that has the tools. So a schema says nothing that
//! follows from the rest, and there are none for answers: clients need none to show an answer, and models do
//! not see them. Unknown arguments are not forbidden, because some clients check that and never send the call,
//! for which we may have an answer (see `arguments`).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let generator = settings.into_generator();
    portable(generator.into_root_schema_for::<T>().to_value())
}

fn portable(mut schema: Value) -> Map<String, Value> {
    simplify(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema.remove("description");
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
            remove_null(schema);
            name_values(schema);
            let is_number = matches!(
                schema.get("type").and_then(Value::as_str),
                Some("integer" | "number")
            );
            if is_number {
                schema.remove("format");
                schema.remove("minimum");
            }
            // The description says it where it matters.
            schema.remove("default");
            if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
                schema.remove("additionalProperties");
            }
            schema.values_mut().for_each(simplify);
        }
        _ => {}
    }
}

/// A value that may be null may as well be absent.
fn remove_null(schema: &mut Map<String, Value>) {
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
    let mut some = choices.iter().filter(|choice| choice["type"] != "null");
    let (Some(only), None) = (some.next().cloned(), some.next()) else {
        return;
    };
    schema.remove("anyOf");
    for (key, value) in only.as_object().into_iter().flatten() {
        schema.entry(key).or_insert_with(|| value.clone());
    }
}

/// A choice of texts is an `enum`, which every client knows.
fn name_values(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else {
        return;
    };
    let values = choices.iter().map(|choice| choice.get("const").cloned());
    if let Some(values) = values.collect::<Option<Vec<Value>>>() {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(values));
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
