//! For the fuzz targets only: calls tools with any arguments, and starts nothing.

use crate::call::{Call, Patience, Scope};
use crate::reply::Refused;
use crate::tools::{self, Entry, Failed, run};
use outlive::inbox::Inbox;
use outlive::{Caller, Error, Label, Outlive};
use rmcp::model::JsonObject;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A server without a transport.
#[derive(Debug)]
pub struct Desk {
    call: Call,
    entries: Vec<Entry>,
}

/// The result of a call.
#[derive(Debug)]
pub enum Answered {
    Said(String),
    Refused(String),
    /// The arguments do not match the tool's schema.
    BadParams(String),
    /// The command that `run` would have started, and its times.
    WouldRun {
        timeout: Option<Duration>,
    },
}

impl Desk {
    pub fn new(home: PathBuf) -> Result<Desk, Error> {
        let session = Label::parse("fuzz").map_err(|reason| Error::BadLabel {
            what: "the session",
            text: "fuzz".to_owned(),
            reason,
        })?;
        let outlive = Outlive::open_at(home)?.called_by(Caller::Session(session.clone()));
        let call = Call {
            inbox: Inbox::open(&outlive, session.clone())?,
            outlive,
            session,
            is_made: true,
            has_hooks: false,
            scope: Scope::Everything,
            id: None,
            glances: Arc::default(),
            tasks: Arc::default(),
            patience: Patience {
                most: Duration::ZERO,
                cancelled: CancellationToken::new(),
                progress: None,
            },
        };
        Ok(Desk {
            call,
            entries: tools::entries(true),
        })
    }

    /// Calls the tool with this number, modulo the number of tools.
    pub fn ask(&self, tool: usize, arguments: JsonObject) -> Answered {
        let entry = &self.entries[tool % self.entries.len()];
        let asked = match entry.tool.name.as_ref() {
            "run" => self.would_run(arguments),
            _ => (entry.call)(&self.call, arguments).map(|said| Answered::Said(said.text)),
        };
        match asked {
            Ok(answered) => answered,
            Err(Failed::Refused(refused)) => Answered::Refused(refused.said().text),
            Err(Failed::BadParams(text)) => Answered::BadParams(text),
        }
    }

    fn would_run(&self, arguments: JsonObject) -> Result<Answered, Failed> {
        let args: run::Args = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| Failed::BadParams(error.to_string()))?;
        let request = run::request(&self.call, args);
        request
            .map(|run| Answered::WouldRun {
                timeout: run.timeout,
            })
            .map_err(|refused: Refused| Failed::Refused(refused))
    }
}
