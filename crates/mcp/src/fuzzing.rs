//! For the fuzz targets only: calls tools with any arguments, and starts nothing.

use crate::arguments;
use crate::call::{Call, Patience, Scope, Teller};
use crate::reply::Refused;
use crate::tools::{self, Entry, run};
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
            teller: Teller::Replies,
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
        let asked = arguments::read(&entry.tool, arguments).and_then(|given| {
            match entry.tool.name.as_ref() {
                "run" => self.would_run(given.arguments),
                _ => {
                    (entry.call)(&self.call, given.arguments).map(|said| Answered::Said(said.text))
                }
            }
        });
        asked.unwrap_or_else(|refused| Answered::Refused(refused.said().text))
    }

    fn would_run(&self, arguments: JsonObject) -> Result<Answered, Refused> {
        let args: run::Args =
            serde_json::from_value(Value::Object(arguments)).map_err(Refused::bad_input)?;
        let run = run::request(&self.call, args)?;
        Ok(Answered::WouldRun {
            timeout: run.timeout,
        })
    }
}
