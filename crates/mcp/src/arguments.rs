//! What a model passes to a tool, and what the tool takes.
//!
//! Models know other tools, with other names for the same arguments. A call that fails for such a name costs a
//! turn, so what is surely meant is understood ([`habits`](crate::habits)), and what means nothing here is
//! ignored with a note. The schema of the tool decides about the rest. A refusal uses the model's words.

use crate::habits::{self, Habit};
use crate::reply::Refused;
use outlive::units::parse_duration;
use outlive::words::cut;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Number, Value, json};

/// The longest text of an argument that an error repeats.
const MAX_SHOWN: usize = 80;

/// Arguments as the tool takes them.
#[derive(Debug, Default)]
pub struct Given {
    pub arguments: JsonObject,
    /// What was ignored, for the model.
    pub notes: Vec<String>,
}

/// Reads the arguments of a call.
pub fn read(tool: &Tool, passed: JsonObject) -> Result<Given, Refused> {
    let none = Map::new();
    let properties = tool.input_schema.get("properties");
    let properties = properties.and_then(Value::as_object).unwrap_or(&none);
    let reader = ArgumentReader { tool, properties };
    let mut given = Given::default();
    // The name that the model used for each argument.
    let mut words: Map<String, Value> = Map::new();
    for (word, value) in passed.into_iter().filter(|(_, value)| !value.is_null()) {
        let name = match habits::of(&tool.name, &word, |name| properties.contains_key(name)) {
            Habit::Own => word.as_str(),
            Habit::Means(name) => name,
            Habit::Ignored(why) => {
                given.notes.push(format!("`{word}` was ignored: {why}"));
                continue;
            }
            Habit::Unknown => return Err(reader.unknown(&word)),
        };
        let value = reader.fit(&word, name, value)?;
        if given
            .arguments
            .get(name)
            .is_some_and(|known| *known != value)
        {
            let known = words.get(name).and_then(Value::as_str).unwrap_or(name);
            return Err(Refused::bad_input(format!(
                "`{known}` and `{word}` mean the same here and differ; pass only `{name}`"
            )));
        }
        words.insert(name.to_owned(), json!(word));
        given.arguments.insert(name.to_owned(), value);
    }
    match reader.missing(&given.arguments) {
        Some(refused) => Err(refused),
        None => Ok(given),
    }
}

struct ArgumentReader<'a> {
    tool: &'a Tool,
    properties: &'a JsonObject,
}

impl ArgumentReader<'_> {
    fn unknown(&self, word: &str) -> Refused {
        let names: Vec<&str> = self.properties.keys().map(String::as_str).collect();
        Refused::bad_input(format!(
            "`{}` has no argument `{}`; it takes {}",
            self.tool.name,
            cut(word, MAX_SHOWN),
            names.join(", ")
        ))
    }

    /// The first argument that the tool needs and was not given.
    fn missing(&self, given: &JsonObject) -> Option<Refused> {
        let needed = self.tool.input_schema.get("required")?.as_array()?;
        let mut needed = needed.iter().filter_map(Value::as_str);
        let name = needed.find(|name| !given.contains_key(*name))?;
        let what = self
            .properties
            .get(name)
            .and_then(|what| what.get("description"));
        let what = what.and_then(Value::as_str).unwrap_or_default();
        Some(Refused::bad_input(format!(
            "`{}` needs `{name}`: {what}",
            self.tool.name
        )))
    }

    /// The value in the type of the argument `name`. `word` is what the model calls it.
    fn fit(&self, word: &str, name: &str, value: Value) -> Result<Value, Refused> {
        let schema = self.properties.get(name).unwrap_or(&Value::Null);
        let is_list = schema["type"] == "array";
        let value = match value {
            // The words of a command, as other tools take them.
            Value::Array(words) if name == "command" && words.len() > 1 => {
                let words = fitted(&json!({"type": "array", "items": schema}), &json!(words));
                return words.ok_or_else(|| {
                    Refused::bad_input(format!("`{word}` must be a text, or a list of texts"))
                });
            }
            Value::Array(items) if !is_list => {
                let number = items.len();
                <[Value; 1]>::try_from(items)
                    .map(|[item]| item)
                    .map_err(|_| {
                        Refused::bad_input(format!(
                            "`{word}` of `{}` takes one value, not a list of {number}",
                            self.tool.name
                        ))
                    })?
            }
            other => other,
        };
        fitted(schema, &value).ok_or_else(|| {
            let shown = match &value {
                Value::String(text) => format!("{:?}", cut(text, MAX_SHOWN)),
                other => cut(&other.to_string(), MAX_SHOWN),
            };
            Refused::bad_input(format!(
                "`{word}` of `{}` must be {}, not {shown}",
                self.tool.name,
                expected(schema)
            ))
        })
    }
}

/// The value in the type of the schema; `None` if it cannot be meant.
fn fitted(schema: &Value, value: &Value) -> Option<Value> {
    match (schema["type"].as_str()?, value) {
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("integer", Value::String(text)) => whole(&text.trim().parse().ok()?),
        ("integer", Value::Number(number)) => whole(number),
        ("number", Value::String(text)) => {
            let text = text.trim();
            let seconds = match text.parse::<f64>() {
                Ok(seconds) => seconds,
                Err(_) => parse_duration(text).ok()?.as_secs_f64(),
            };
            Number::from_f64(seconds).map(Value::Number)
        }
        ("number", Value::Number(_)) => Some(value.clone()),
        ("string", _) => {
            let text = text(value)?;
            let is_choice = |choices: &Vec<Value>| choices.contains(&text);
            let choices = schema.get("enum").and_then(Value::as_array);
            choices.is_none_or(is_choice).then_some(text)
        }
        ("array", Value::Array(items)) => items
            .iter()
            .map(|item| fitted(&schema["items"], item))
            .collect::<Option<Vec<Value>>>()
            .map(Value::Array),
        // Some models write a list or an object as JSON in a text.
        ("array", Value::String(text)) if written_list(text).is_some() => {
            fitted(schema, &written_list(text)?)
        }
        ("array", one) => Some(json!([fitted(&schema["items"], one)?])),
        ("object", Value::Object(entries)) => entries
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect::<Option<JsonObject>>()
            .map(Value::Object),
        ("object", Value::String(text)) => {
            let written: Value = serde_json::from_str(text).ok()?;
            written.is_object().then(|| fitted(schema, &written))?
        }
        _ => None,
    }
}

/// The list of texts that a text is in JSON. `["a"]` is one; `[a]` is none, and may be what to watch for.
fn written_list(text: &str) -> Option<Value> {
    let list: Vec<String> = serde_json::from_str(text).ok()?;
    Some(json!(list))
}

/// A number that is not negative and has no fraction, however it is written.
fn whole(number: &Number) -> Option<Value> {
    if let Some(number) = number.as_u64() {
        return Some(json!(number));
    }
    /// From here on, a float no longer holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = number.as_f64()?;
    ((0.0..EXACT).contains(&number) && number.fract() == 0.0).then(|| json!(number as u64))
}

/// A single value as text.
fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(json!(number.to_string())),
        Value::Bool(truth) => Some(json!(truth.to_string())),
        Value::Array(_) | Value::Object(_) | Value::Null => None,
    }
}

/// What the schema takes, for an error.
fn expected(schema: &Value) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", choices.join(", "));
    }
    match schema["type"].as_str().unwrap_or_default() {
        "boolean" => "true or false".to_owned(),
        "integer" => "a whole number, 0 or more".to_owned(),
        "number" => "a number of seconds".to_owned(),
        "array" => "a list of texts".to_owned(),
        "object" => "an object of names and values, such as {\"NAME\": \"value\"}".to_owned(),
        _ => "a text".to_owned(),
    }
}
