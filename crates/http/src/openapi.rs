//! The description of all routes as OpenAPI 3.1, made from the types that they take and answer. It is served, and checked
//! in as `docs/api/openapi.json`.

use crate::verbs::{self, Needs, Verb, VerbVisitor};
use crate::window::{Search, SearchPart, Window};
use axum::response::{IntoResponse, Response};
use outlive_api::failure::ErrorReply;
use outlive_api::log::{LogLine, LogPage, LogPiece, Screen};
use outlive_api::request::{ForJob, Log};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

pub async fn served() -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| description().to_string());
    crate::server::json(text.clone().into_bytes()).into_response()
}

/// The whole description.
pub fn description() -> Value {
    let mut routes = Routes {
        requests: generator(SchemaSettings::draft2020_12().for_deserialize()),
        replies: generator(SchemaSettings::draft2020_12().for_serialize()),
        paths: Map::new(),
    };
    verbs::each(&mut routes);
    routes.log();
    routes.output();
    routes.window();
    routes.events();
    routes.others();
    routes.finish()
}

fn generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    settings.into_generator()
}

struct Routes {
    requests: SchemaGenerator,
    replies: SchemaGenerator,
    paths: Map<String, Value>,
}

/// What a type that is taken is called, if the same type is answered in another form.
const TAKEN: &str = "Taken";

const REFUSED: &str = "It was refused, or failed.";

impl VerbVisitor for Routes {
    fn verb<V: Verb>(&mut self) {
        let reply = self.replies.subschema_for::<V::Reply>().to_value();
        let mut operation = operation(V::NAME, V::ABOUT, V::NEEDS);
        operation["requestBody"] = self.body::<V::Request>();
        operation["responses"] = self.responses(json!({"application/json": {"schema": reply}}));
        operation["parameters"] = json!([secrets()]);
        self.paths
            .insert(verbs::path(V::NAME), json!({"post": operation}));
    }
}

impl Routes {
    fn body<T: JsonSchema>(&mut self) -> Value {
        let schema = self.requests.subschema_for::<T>().to_value();
        json!({"required": true, "content": {"application/json": {"schema": schema}}})
    }

    /// The answers of a route: what it answers, and failures.
    fn responses(&mut self, content: Value) -> Value {
        let error = self.replies.subschema_for::<ErrorReply>().to_value();
        let failure =
            json!({"description": REFUSED, "content": {"application/json": {"schema": error}}});
        json!({"200": {"description": "The reply.", "content": content}, "default": failure})
    }

    fn log(&mut self) {
        let page = self.replies.subschema_for::<LogPage>().to_value();
        let screen = self.replies.subschema_for::<Screen>().to_value();
        let line = self.replies.subschema_for::<LogLine>().to_value();
        let piece = self.replies.subschema_for::<LogPiece>().to_value();
        let about = "Read the output of a job as text. A page and a screen are one object; lines and pieces are one \
                     object on each line, written as they are found.";
        let mut operation = operation("log", about, Needs::Look);
        operation["requestBody"] = self.body::<ForJob<Log>>();
        operation["responses"] = self.responses(json!({
            "application/json": {"schema": {"anyOf": [page, screen]}},
            "application/x-ndjson": {"schema": {"description": "One of these on each line.", "anyOf": [line, piece, {"type": "string"}]}},
        }));
        operation["parameters"] = json!([secrets()]);
        self.paths
            .insert("/v1/log".to_owned(), json!({"post": operation}));
    }

    fn output(&mut self) {
        let about = "Read the output of a job. With `secrets=show` the reply has the exact bytes, of which `Range` names \
                     some, and the header `Outlive-Dropped` names those that were not kept. Otherwise it is text without secrets.";
        let mut operation = operation("output", about, Needs::Look);
        let text = json!({"type": "string"});
        let content = json!({"text/plain; charset=utf-8": {"schema": text}, "application/octet-stream": {"schema": {}}});
        let mut responses = self.responses(content.clone());
        responses["206"] = json!({"description": "The range that was asked for, up to the next byte that was not kept.",
            "content": {"application/octet-stream": {"schema": {}}}});
        operation["responses"] = responses;
        operation["parameters"] = json!([
            job(),
            secrets(),
            parameter(
                "from",
                "The offset of the first byte.",
                json!({"type": "integer", "minimum": 0})
            ),
            parameter(
                "follow",
                "Also what the job writes from now on, until it ends.",
                json!({"type": "boolean"})
            ),
            parameter(
                "download",
                "For a browser: save it as a file.",
                json!({"type": "boolean"})
            ),
        ]);
        self.paths.insert(
            "/v1/jobs/{job}/output".to_owned(),
            json!({"get": operation}),
        );
    }

    fn window(&mut self) {
        let about = "Read some lines with their colours: `count` lines from line `from` on, or else the last ones. \
                     Without `secrets=show`, secrets are left out.";
        let mut lines = operation("lines", about, Needs::Look);
        let reply = self.replies.subschema_for::<Window>().to_value();
        lines["responses"] = self.responses(json!({"application/json": {"schema": reply}}));
        let number = || json!({"type": "integer", "minimum": 1});
        lines["parameters"] = json!([
            job(),
            secrets(),
            parameter("from", "The number of the first line.", number()),
            parameter("count", "How many lines; at most 2000.", number()),
        ]);
        let path = "/v1/jobs/{job}/lines".to_owned();
        self.paths.insert(path, json!({"get": lines}));
        let about = "Search the whole output of a job. The parts of the reply come as it is searched, one object on \
                     each line.";
        let mut search = operation("search", about, Needs::Look);
        search["requestBody"] = self.body::<Search>();
        let part = self.replies.subschema_for::<SearchPart>().to_value();
        let each = json!({"description": "One of these on each line.", "anyOf": [part, {"type": "string"}]});
        search["responses"] = self.responses(json!({"application/x-ndjson": {"schema": each}}));
        search["parameters"] = json!([secrets()]);
        self.paths
            .insert("/v1/search".to_owned(), json!({"post": search}));
    }

    fn events(&mut self) {
        let about = "Follow what sessions have not been told, as server-sent events: each event of the contract once, \
                     beginning with those that wait. It only looks, so what is not acknowledged comes again on the next connection.";
        let mut events = operation("events", about, Needs::Look);
        let text = json!({"text/event-stream": {"schema": {"type": "string"}}});
        events["responses"] = self.responses(text);
        let session = parameter(
            "session",
            "Only those of this session; may be given several times.",
            json!({"type": "string"}),
        );
        events["parameters"] = json!([session, secrets()]);
        self.paths
            .insert("/v1/events".to_owned(), json!({"get": events}));
    }

    fn others(&mut self) {
        let mut metrics = operation("metrics", "Counts for Prometheus.", Needs::Look);
        let text =
            json!({"text/plain; version=0.0.4; charset=utf-8": {"schema": {"type": "string"}}});
        metrics["responses"] = self.responses(text);
        self.paths
            .insert("/metrics".to_owned(), json!({"get": metrics}));
        let mut own = operation(
            "openapi",
            "This description. It needs no token.",
            Needs::Look,
        );
        own["responses"] =
            self.responses(json!({"application/json": {"schema": {"type": "object"}}}));
        own["security"] = json!([]);
        self.paths
            .insert("/v1/openapi.json".to_owned(), json!({"get": own}));
    }

    fn finish(mut self) -> Value {
        let mut schemas = self.replies.take_definitions(true);
        let taken = self.requests.take_definitions(true);
        let differs = |name: &String| {
            schemas
                .get(name)
                .is_some_and(|known| taken.get(name) != Some(known))
        };
        let renamed: Vec<String> = taken.keys().filter(|name| differs(name)).cloned().collect();
        let paths = rename_requests(Value::Object(self.paths), &renamed);
        for (name, schema) in taken {
            let own = match renamed.contains(&name) {
                true => format!("{name}{TAKEN}"),
                false => name,
            };
            schemas.insert(own, refer(schema, &renamed));
        }
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Outlive",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "The verbs of Outlive over HTTP. Every request needs a token that `outlive serve` has made.",
            },
            "security": [{"token": []}],
            "paths": paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "schemas": schemas,
            },
        })
    }
}

fn operation(name: &str, about: &str, needs: Needs) -> Value {
    let who = match needs {
        Needs::Owner => "Only the token of the owner allows it.",
        Needs::Look | Needs::LookAndWait => "Every token allows it.",
    };
    json!({"operationId": name.replace('/', "_"), "summary": about, "description": who})
}

fn job() -> Value {
    let about = "Its id, the beginning of its id, or its name.";
    json!({"name": "job", "in": "path", "required": true, "schema": {"type": "string"}, "description": about})
}

fn secrets() -> Value {
    parameter(
        "secrets",
        "`show`: leave credentials in the reply. Only the token of the owner allows it.",
        json!({"enum": ["show"]}),
    )
}

fn parameter(name: &str, about: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "required": false, "description": about, "schema": schema})
}

/// The bodies of requests refer to what is taken, and everything else to what is answered.
fn rename_requests(mut paths: Value, renamed: &[String]) -> Value {
    let operations = paths.as_object_mut().into_iter().flatten();
    for (_, operations) in operations {
        for (_, operation) in operations.as_object_mut().into_iter().flatten() {
            if let Some(body) = operation.get_mut("requestBody") {
                *body = refer(body.take(), renamed);
            }
        }
    }
    paths
}

/// Makes references to these types refer to the form that is taken.
fn refer(value: Value, renamed: &[String]) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(key, field)| match (key.as_str(), field) {
                    ("$ref", Value::String(to)) => {
                        let name = to.rsplit('/').next().unwrap_or_default();
                        let to = match renamed.iter().any(|known| known == name) {
                            true => format!("{to}{TAKEN}"),
                            false => to,
                        };
                        (key, Value::String(to))
                    }
                    (_, field) => (key, refer(field, renamed)),
                });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(|item| refer(item, renamed)).collect(),
        other => other,
    }
}
