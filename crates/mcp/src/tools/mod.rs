//! The tools. Each is one verb, in a file with its name.

mod inbox;
mod jobs;
mod log;
mod process;
pub mod run;
mod send;
mod show;
mod stop;
mod wait;
mod watch;

use crate::arguments::Given;
use crate::call::Call;
use crate::reply::{Refused, Reply, ToolAnswer};
use crate::schema;
use outlive_api::brief::Detail;
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A verb as a tool.
pub trait Verb {
    type Args: DeserializeOwned + JsonSchema;
    type Answer: Serialize + JsonSchema;
    const NAME: &'static str;
    const TITLE: &'static str;
    /// When and for what to use it. Every model that has the tools reads it before it needs it, so it is short.
    const DESCRIPTION: &'static str;
    const HINTS: Hints;
    /// How much of a job its answers say.
    const DETAIL: Detail = Detail::Line;
    /// Claude Code shows a model the other tools only when it searches for them.
    const ALWAYS_LOADED: bool = false;
    /// Whether the reply ends with the events that the session has not been told.
    const TELLS: bool = true;

    fn call(call: &Call, args: Self::Args) -> Result<Reply<Self::Answer>, Refused>;
}

/// What a client may want to know before it allows a call.
#[derive(Clone, Copy, Debug)]
pub enum Hints {
    /// Changes nothing.
    Reads,
    /// Changes something, and destroys nothing.
    Adds,
    /// May change or end anything, again with every call.
    Acts,
    /// Ends something; a repeated call changes nothing more.
    Ends,
}

impl Hints {
    fn annotations(self) -> ToolAnnotations {
        let (reads, destroys, repeats, open) = match self {
            Hints::Reads => (true, false, true, false),
            Hints::Adds => (false, false, true, false),
            Hints::Acts => (false, true, false, true),
            Hints::Ends => (false, true, true, false),
        };
        ToolAnnotations::new()
            .read_only(reads)
            .destructive(destroys)
            .idempotent(repeats)
            .open_world(open)
    }
}

/// A tool and its function.
#[derive(Clone, Debug)]
pub struct Entry {
    pub tool: Tool,
    pub tells: bool,
    pub call: fn(&Call, JsonObject) -> Result<ToolAnswer, Refused>,
}

impl Entry {
    /// Calls the tool with what a model passed.
    pub fn answer(&self, call: &Call, given: Result<Given, Refused>) -> ToolAnswer {
        let Given { arguments, notes } = match given {
            Ok(given) => given,
            Err(refused) => return refused.said(),
        };
        let mut said = (self.call)(call, arguments).unwrap_or_else(Refused::said);
        said.note(notes);
        said
    }
}

fn entry<V: Verb>() -> Entry {
    let tool = Tool::new(V::NAME, V::DESCRIPTION, schema::input::<V::Args>())
        .with_title(V::TITLE)
        .with_annotations(V::HINTS.annotations());
    let mut meta = MetaObject::new();
    meta.0
        .insert("anthropic/alwaysLoad".to_owned(), json!(true));
    Entry {
        tool: match V::ALWAYS_LOADED {
            true => tool.with_meta(meta),
            false => tool,
        },
        tells: V::TELLS,
        call: |call, arguments| {
            let args = serde_json::from_value(Value::Object(arguments))
                .map_err(|error| Refused::bad_input(format!("{}: {error}", V::NAME)))?;
            V::call(call, args)?.said(V::DETAIL)
        },
    }
}

/// All tools.
pub fn entries(compat: bool) -> Vec<Entry> {
    let mut entries = vec![
        entry::<run::Run>(),
        entry::<jobs::Jobs>(),
        entry::<show::Show>(),
        entry::<log::Log>(),
        entry::<wait::Wait>(),
        entry::<send::Send>(),
        entry::<stop::Stop>(),
        entry::<watch::Watch>(),
        entry::<inbox::TakeInbox>(),
    ];
    if compat {
        entries.push(entry::<process::Process>());
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every schema in a value, at any depth.
    fn walk(value: &Value, look: &mut impl FnMut(&JsonObject)) {
        match value {
            Value::Object(object) => {
                look(object);
                object.values().for_each(|value| walk(value, look));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, look)),
            _ => {}
        }
    }

    #[test]
    fn every_client_accepts_the_schemas() {
        for entry in entries(true) {
            let tool = entry.tool;
            let schema = Value::Object((*tool.input_schema).clone());
            assert_eq!(schema["type"], "object", "{}", tool.name);
            walk(&schema, &mut |part| {
                let text = format!("{}: {part:?}", tool.name);
                let format = part.get("format").and_then(Value::as_str);
                assert!(!format.is_some_and(|name| name.contains("int")), "{text}");
                assert!(!part.get("type").is_some_and(Value::is_array), "{text}");
                for key in ["$ref", "$defs", "nullable", "default"] {
                    assert!(!part.contains_key(key), "{text}");
                }
                assert_ne!(part.get("type"), Some(&Value::from("null")), "{text}");
            });
        }
    }

    #[test]
    fn descriptions_are_short_and_every_parameter_has_one() {
        for entry in entries(true) {
            let description = entry.tool.description.unwrap_or_default();
            assert!((80..1100).contains(&description.len()), "{description}");
            let schema = Value::Object((*entry.tool.input_schema).clone());
            for (name, parameter) in schema["properties"].as_object().into_iter().flatten() {
                let text = parameter["description"].as_str().unwrap_or_default();
                let is_line = !text.is_empty() && !text.contains('\n');
                assert!(is_line, "{} {name}: {text:?}", entry.tool.name);
            }
        }
    }
}
