//! The reply of a tool: text for readers, the same as structured content for programs, and what to
//! record after it is written.

use crate::delivery::Note;
use crate::hints;
use outlive::inbox::{Event, EventKind};
use outlive::redact::redact;
use outlive::{Error, Job, JobId, agree};
use outlive_api::brief::{self, Detail};
use outlive_api::failure::ErrorCode;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The answer of a tool.
pub struct Reply<A> {
    /// Complete by itself, because some clients show nothing else.
    pub text: String,
    pub answer: A,
    pub told: ByTheWay,
}

/// What a reply tells in addition to the answer.
#[derive(Default)]
pub struct ByTheWay {
    /// Events that the reply already tells, so they need not be appended.
    pub covers: Vec<(JobId, EventKind)>,
    /// Jobs that the reply shows as running. If they have ended since, the next reply says so.
    pub running: Vec<JobId>,
    /// What to record after the reply is written.
    pub notes: Vec<Note>,
}

impl<A> Reply<A> {
    pub fn new(text: impl Into<String>, answer: A) -> Reply<A> {
        Reply {
            text: text.into(),
            answer,
            told: ByTheWay::default(),
        }
    }

    /// The reply tells how these jobs ended.
    #[must_use]
    pub fn tells_ends(mut self, ids: impl IntoIterator<Item = JobId>) -> Reply<A> {
        let ends = ids.into_iter().map(|id| (id, EventKind::Ended));
        self.told.covers.extend(ends);
        self
    }

    /// The reply tells how these jobs ended, and that none of their processes is left.
    #[must_use]
    pub fn tells_all_ends(mut self, ids: Vec<JobId>) -> Reply<A> {
        let left = ids.iter().map(|id| (id.clone(), EventKind::LingeringEnded));
        self.told.covers.extend(left);
        self.tells_ends(ids)
    }

    /// The reply shows these jobs as they were at one moment.
    #[must_use]
    pub fn shows<'a>(mut self, jobs: impl IntoIterator<Item = &'a Job>) -> Reply<A> {
        let running = jobs.into_iter().filter(|job| !job.has_ended());
        self.told.running.extend(running.map(|job| job.id.clone()));
        self
    }

    /// Records after the reply is read that the session was told.
    #[must_use]
    pub fn then(mut self, note: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Reply<A> {
        self.told.notes.push(Note::told(note));
        self
    }

    /// Records after the reply is written that the session has seen something in passing.
    #[must_use]
    pub fn then_seen(mut self, note: impl FnOnce() + Send + 'static) -> Reply<A> {
        let record = || {
            note();
            Ok(())
        };
        self.told.notes.push(Note::Seen(Box::new(record)));
        self
    }
}

/// Why a tool refused the request, and what to do about it.
#[derive(Debug)]
pub struct Refused {
    /// The kind of error, for programs.
    pub code: ErrorCode,
    pub text: String,
}

impl Refused {
    pub fn bad_input(text: impl ToString) -> Refused {
        Refused {
            code: ErrorCode::BadInput,
            text: text.to_string(),
        }
    }

    /// A resource that this server never has. The client is told "resource not found".
    pub fn no_such_resource(text: String) -> Refused {
        Refused {
            code: ErrorCode::NoSuchJob,
            text,
        }
    }

    pub fn no_such_job(text: &str) -> Refused {
        Error::NoSuchJob(text.to_owned()).into()
    }

    pub fn said(self) -> ToolAnswer {
        ToolAnswer {
            text: redact(&self.text).into_owned(),
            content: Map::new(),
            refused: Some(self.code),
            told: ByTheWay::default(),
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused {
            code: error.code(),
            text: hints::with_hint(&error),
        }
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Refused {
        Refused {
            code: ErrorCode::Failed,
            text: format!("cannot read the output: {error}"),
        }
    }
}

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Refused {
        Refused {
            code: ErrorCode::Failed,
            text: format!("cannot tell it in JSON: {error}"),
        }
    }
}

/// The answer of any tool, ready for events to be appended.
pub struct ToolAnswer {
    pub text: String,
    pub content: Map<String, Value>,
    /// The kind of refusal, if it is one.
    pub refused: Option<ErrorCode>,
    pub told: ByTheWay,
}

impl<A: Serialize + JsonSchema> Reply<A> {
    pub fn said(self, detail: Detail) -> Result<ToolAnswer, Refused> {
        let content = match brief::value(&self.answer, detail)? {
            Value::Object(content) => content,
            _ => Map::new(),
        };
        Ok(ToolAnswer {
            text: self.text,
            content,
            refused: None,
            told: self.told,
        })
    }
}

impl ToolAnswer {
    /// Appends the events that the session has not been told.
    pub fn append(&mut self, events: &[Event], more: usize) -> Result<(), Refused> {
        if events.is_empty() {
            return Ok(());
        }
        self.text.push_str("\n\nWhile you were away:");
        for event in events {
            self.text
                .push_str(&format!("\n[{}] {}", event.event, event.text));
        }
        if more > 0 {
            self.text.push_str(&format!(
                "\n{more} more {}; the tool `inbox` delivers {}.",
                agree(more as u64, "waits", "wait"),
                agree(more as u64, "it", "them")
            ));
        }
        let told = brief::value(&events, Detail::Line)?;
        self.content.insert("events".to_owned(), told);
        if more > 0 {
            self.content.insert("more_events".to_owned(), json!(more));
        }
        Ok(())
    }

    /// Says something beside the answer.
    pub fn note(&mut self, notes: Vec<String>) {
        if notes.is_empty() {
            return;
        }
        for note in &notes {
            self.text.push_str(&format!("\nNote: {note}."));
        }
        let known = self.content.entry("notes").or_insert_with(|| json!([]));
        if let Some(known) = known.as_array_mut() {
            known.extend(notes.into_iter().map(Value::String));
        }
    }

    /// The result as JSON, for a task.
    pub fn content_of_result(&self) -> Result<Map<String, Value>, Refused> {
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.text.clone())]);
        result.structured_content = Some(Value::Object(self.content.clone()));
        match serde_json::to_value(result)? {
            Value::Object(result) => Ok(result),
            _ => Ok(Map::new()),
        }
    }

    pub fn result(self) -> CallToolResult {
        let text = vec![ContentBlock::text(self.text)];
        let Some(code) = self.refused else {
            let mut result = CallToolResult::success(text);
            result.structured_content = Some(Value::Object(self.content));
            return result;
        };
        // A refusal has no structured content, so that clients that prefer it show the text.
        let mut result = CallToolResult::error(text);
        let mut meta = MetaObject::new();
        meta.0.insert("outlive/refused".to_owned(), json!(code));
        result.meta = Some(meta);
        result
    }
}
