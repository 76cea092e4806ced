//! The verbs that answer by themselves, and the table of all verbs.
//!
//! | module | verbs |
//! |---|---|
//! | `jobs` | starting, finding, showing and ending jobs, and writing to them |
//! | `output` | `log` in its forms |
//! | `telling` | inboxes, posts, sessions |
//! | `home` | pruning, places, and what this machine can do |
//!
//! Each takes its request and calls the same function of the library as every other face.

mod home;
mod jobs;
mod output;
mod telling;

use crate::desk::{self, Stream};
use crate::lends::Lends;
use crate::out::failure;
use crate::pool::Pool;
use crate::receipts::{Receipts, Record};
use crate::under_way::{Over, Request};
use outlive::api::failure::{ErrorCode, Failure};
use outlive::inbox::{Receipt, all_told};
use outlive::verbs::list;
use outlive::{Caller, Error, JobId, Label, Outlive, Selector};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// What a verb does with a request.
#[derive(Clone, Copy)]
pub enum Verb {
    /// It answers, on a thread of its own.
    Call(fn(&Call) -> Result<(), Refused>),
    /// It makes something that the desk continues.
    Stream(fn(&Arc<Call>) -> Result<Stream, Refused>),
}

/// Every verb. `docs/rpc.md` has the same table.
const VERBS: [(&str, Verb); 29] = [
    ("run", Verb::Call(jobs::run)),
    ("adopt", Verb::Call(jobs::adopt)),
    ("find", Verb::Call(jobs::find)),
    ("list", Verb::Call(jobs::list)),
    ("show", Verb::Call(jobs::show)),
    ("log", Verb::Call(output::log)),
    ("wait", Verb::Stream(desk::wait)),
    ("watch", Verb::Call(jobs::watch)),
    ("label", Verb::Call(jobs::label)),
    ("stop", Verb::Call(jobs::stop)),
    ("signal", Verb::Call(jobs::signal)),
    ("send", Verb::Call(jobs::send)),
    ("resize", Verb::Call(jobs::resize)),
    ("inbox", Verb::Stream(desk::inbox)),
    ("ack", Verb::Call(telling::ack)),
    ("post", Verb::Call(telling::post)),
    ("session_end", Verb::Call(telling::session_end)),
    ("prune", Verb::Call(home::prune)),
    ("doctor", Verb::Call(home::doctor)),
    ("place_list", Verb::Call(home::place_list)),
    ("place_check", Verb::Call(home::place_check)),
    ("place_add", Verb::Call(home::place_add)),
    ("place_remove", Verb::Call(home::place_remove)),
    ("place_clean", Verb::Call(home::place_clean)),
    ("place_lend", Verb::Stream(desk::place_lend)),
    ("follow_output", Verb::Stream(desk::follow_output)),
    ("follow_events", Verb::Stream(desk::follow_events)),
    ("follow_jobs", Verb::Stream(desk::follow_jobs)),
    ("follow_usage", Verb::Call(output::follow_usage)),
];

/// The names of all verbs.
pub fn verbs() -> impl Iterator<Item = &'static str> {
    VERBS.iter().map(|(name, _)| *name)
}

/// The verb of this name.
pub fn find(name: &str) -> Result<Verb, Refused> {
    let mut known = VERBS.iter();
    let found = known.find(|(known, _)| *known == name);
    found.map(|(_, verb)| *verb).ok_or_else(|| {
        let name: String = name.chars().take(40).collect();
        let known: Vec<&str> = verbs().collect();
        Refused::bad(format!(
            "no verb {name:?}; the verbs are {}",
            known.join(", ")
        ))
    })
}

/// One request, on its way to a verb.
#[derive(Debug)]
pub struct Call {
    /// The home, on behalf of whoever speaks.
    pub outlive: Outlive,
    /// The answer goes there.
    pub request: Arc<Request>,
    pub verb: String,
    asked: Value,
    /// The raw bytes that came with it.
    pub raw: Option<Vec<u8>>,
    /// The session that speaks.
    pub speaker: Option<Label>,
    receipts: Arc<Receipts>,
    pub lends: Arc<Lends>,
    pub pool: Pool,
}

/// Why a request is refused.
#[derive(Debug)]
pub enum Refused {
    Outlive(Error),
    Bad(String),
    /// Nobody wants the answer any more.
    Over,
}

impl Refused {
    pub fn bad(reason: impl Into<String>) -> Refused {
        Refused::Bad(reason.into())
    }

    pub fn failure(&self) -> Failure {
        match self {
            Refused::Outlive(error) => error.failure(),
            Refused::Bad(reason) => failure(ErrorCode::BadInput, reason),
            Refused::Over => failure(ErrorCode::Canceled, "the request was cancelled"),
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Outlive(error)
    }
}

impl From<Over> for Refused {
    fn from(Over: Over) -> Refused {
        Refused::Over
    }
}

/// What all calls share.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    pub receipts: Arc<Receipts>,
    pub lends: Arc<Lends>,
    pub pool: Pool,
}

impl Call {
    pub fn new(
        home: &Outlive,
        ask: outlive_api::rpc::Ask,
        raw: Option<Vec<u8>>,
        request: Arc<Request>,
        shared: &Shared,
    ) -> Call {
        let outlive = match ask.redact {
            true => home.clone().hiding_secrets(),
            false => home.clone(),
        };
        Call {
            outlive: match &ask.speaker {
                Some(session) => outlive.called_by(Caller::Session(session.clone())),
                None => outlive.called_by(Caller::Unknown),
            },
            speaker: ask.speaker,
            request,
            verb: ask.verb,
            asked: ask.request,
            raw,
            receipts: shared.receipts.clone(),
            lends: shared.lends.clone(),
            pool: shared.pool.clone(),
        }
    }

    /// The request as the verb takes it. Nothing means an empty one.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        let asked = match &self.asked {
            Value::Null => Value::Object(serde_json::Map::new()),
            asked => asked.clone(),
        };
        serde_json::from_value(asked).map_err(|error| {
            let verb = &self.verb;
            Refused::bad(format!("not a request for {verb:?}: {error}"))
        })
    }

    pub fn answer(&self, reply: impl Serialize) -> Result<(), Refused> {
        self.answer_with(reply, Vec::new())
    }

    pub fn answer_with(&self, reply: impl Serialize, notes: Vec<String>) -> Result<(), Refused> {
        self.request.answer(reply, notes, false);
        Ok(())
    }

    /// Answers with something that the session may count as told of.
    pub fn answer_telling(
        &self,
        reply: impl Serialize,
        notes: Vec<String>,
        receipts: Vec<Receipt>,
    ) -> Result<(), Refused> {
        let record = record(receipts);
        let (id, has_receipt) = (self.request.id().clone(), record.is_some());
        // It must be there when the answer is read.
        if let Some(record) = record {
            self.receipts.keep(id, record);
        }
        self.request.answer(reply, notes, has_receipt);
        Ok(())
    }
}

/// What is to be recorded once an answer was read; `None` if it tells nothing.
pub fn record(receipts: Vec<Receipt>) -> Option<Record> {
    let tells = receipts.iter().any(Receipt::tells);
    tells.then(|| -> Record { Box::new(move || all_told(receipts.iter())) })
}

/// The jobs that a request names, and those that it selects.
pub fn jobs_of(
    outlive: &Outlive,
    named: Vec<JobId>,
    select: Option<&Selector>,
) -> Result<Vec<JobId>, Error> {
    let mut ids = named;
    if let Some(select) = select {
        ids.extend(list::running(outlive, select)?);
    }
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_every_verb() {
        let page = include_str!("../../../docs/rpc.md");
        for verb in verbs() {
            assert!(
                page.contains(&format!("\n| `{verb}` |")),
                "docs/rpc.md lacks {verb}"
            );
        }
    }
}
