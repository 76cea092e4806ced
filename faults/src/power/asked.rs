//! What every verb says about a home. Either the programs are asked, or the library that they are made of.
//!
//! Starting a program takes longer than its answer, and there are tens of thousands of disk states. So the
//! library is asked about most of them, and the programs about some.

use crate::invariants::same;
use crate::job::{ID, OTHER, SESSION};
use outlive::inbox::{Inbox, Selection};
use outlive::verbs::{inbox, list, log, prune, show, stop, wait};
use outlive::{Caller, Error, Label, Outlive, Piece};
use outlive_testkit::ran::{Ran, STARTING};
use outlive_testkit::waiting::PATIENCE;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::sync::mpsc;
use std::thread;

/// Whether the programs or the library are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Programs,
    Library,
}

/// The answers of the verbs.
#[derive(Debug, Default)]
pub struct Answers {
    pub inbox: Value,
    /// The job, or the reason why it cannot be shown.
    pub shown: Option<Shown>,
    pub listed: Value,
    pub log: Vec<u8>,
}

#[derive(Debug)]
pub enum Shown {
    Job(Value),
    NoSuchJob,
    Damaged(String),
}

/// The verbs. The test varies which one comes first. They run in another session, so that no answer counts as told to
/// the job's own session.
const VERBS: [&[&str]; 6] = [
    &["inbox", "--session", SESSION, "--json"],
    &["show", ID, "--json"],
    &["list", "--state", "all", "--json"],
    &["log", ID, "--raw", "--bytes", "0:"],
    &["wait", ID],
    &["stop", ID],
];

/// Runs every verb, starting with the one of this number.
pub fn ask(interface: Interface, world: &World, first: usize) -> Result<Answers, String> {
    let verbs = (0..VERBS.len()).map(|n| VERBS[(n + first) % VERBS.len()]);
    let mut answers = Answers::default();
    match interface {
        Interface::Programs => {
            for verb in verbs {
                answers.ask_program(world, verb)?;
            }
            Ok(answers)
        }
        Interface::Library => {
            let verbs: Vec<&str> = verbs.map(|verb| verb[0]).collect();
            within(world, move |outlive| {
                for verb in verbs {
                    answers.ask_library(&outlive, verb)?;
                }
                Ok(answers)
            })
        }
    }
}

/// Removes the job and everything that is left of it.
pub fn prune_all(interface: Interface, world: &World) -> Result<(), String> {
    match interface {
        Interface::Programs => world.try_ok(&["prune", "--all", "--force"]).map(drop),
        Interface::Library => within(world, |outlive| {
            let asked = prune::Prune {
                all: true,
                force: true,
                ..prune::Prune::default()
            };
            prune::prune(&outlive, &asked)
                .map(drop)
                .map_err(|error| format!("prune: {error}"))
        }),
    }
}

/// Calls the library. Returns an error if it panics or never returns.
fn within<T: Send + 'static>(
    world: &World,
    work: impl FnOnce(Outlive) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let other = Label::parse(OTHER).map_err(|error| error.to_string())?;
    let outlive = Outlive::open_at(world.home()).map_err(|error| error.to_string())?;
    let outlive = outlive.called_by(Caller::Session(other)).showing_secrets();
    let (say, said) = mpsc::channel();
    thread::spawn(move || {
        let _nobody_starts = STARTING.read();
        let _ = say.send(work(outlive));
    });
    match said.recv_timeout(PATIENCE) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => Err("a verb never ended".to_owned()),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("a verb panicked".to_owned()),
    }
}

impl Answers {
    fn ask_program(&mut self, world: &World, verb: &[&str]) -> Result<(), String> {
        let ran = Ran::try_of(world.command(verb).env("OUTLIVE_SESSION", OTHER))?;
        // A panic exits with 101, and a signal gives 128 or more. The jobs here end with codes up to 100, and a stop
        // with 143.
        let is_answer = match verb[0] {
            "inbox" | "list" => ran.code == 0,
            _ => matches!(ran.code, 0..=100 | 125 | 143),
        };
        same("an answer", is_answer, true).map_err(|loss| format!("{}: {loss}: {ran}", verb[0]))?;
        let json = |ran: &Ran| {
            serde_json::from_slice::<Value>(&ran.bytes).map_err(|error| format!("{error}: {ran}"))
        };
        match verb[0] {
            "inbox" => self.inbox = json(&ran)?,
            "list" => self.listed = json(&ran)?,
            "log" => self.log = ran.bytes,
            "show" => {
                self.shown = Some(match ran.code {
                    0 => Shown::Job(json(&ran)?),
                    3 => Shown::NoSuchJob,
                    _ => Shown::Damaged(ran.stderr),
                })
            }
            _ => {}
        }
        Ok(())
    }

    /// Calls the library for one verb. An error about the job is a valid answer. An error from the inbox or the list
    /// is not.
    fn ask_library(&mut self, outlive: &Outlive, verb: &str) -> Result<(), String> {
        let told = |error: Error| format!("{verb}: {error}");
        match verb {
            "inbox" => self.inbox = deliver(outlive).map_err(told)?,
            "list" => {
                let filter = list::Filter {
                    limit: usize::MAX,
                    ..list::Filter::default()
                };
                let listing = list::list(outlive, &filter).map_err(told)?;
                self.listed = json!({ "jobs": listing.jobs });
            }
            "log" => self.log = read(outlive).unwrap_or_default(),
            "show" => {
                let job = outlive.find(ID).and_then(|id| show::show(outlive, &id));
                self.shown = Some(match job {
                    Ok(job) => Shown::Job(json!(job)),
                    Err(Error::NoSuchJob(_)) => Shown::NoSuchJob,
                    Err(error) => Shown::Damaged(error.to_string()),
                });
            }
            "wait" => {
                let found = outlive.find(ID);
                let waited = found.and_then(|id| wait::wait(outlive, &[id], wait::Wait::default()));
                let _ = waited.and_then(|waited| waited.receipt.told());
            }
            _ => {
                let found = outlive.find(ID);
                let stopped =
                    found.and_then(|id| stop::stop(outlive, &[id], &stop::Stop::default()));
                let _ = stopped.map(|all| all.iter().try_for_each(|one| one.receipt.told()));
            }
        }
        Ok(())
    }
}

fn deliver(outlive: &Outlive) -> Result<Value, Error> {
    let session = Label::parse(SESSION).map_err(|reason| Error::BadLabel {
        what: "the session",
        text: SESSION.to_owned(),
        reason,
    })?;
    let inbox = Inbox::open(outlive, session)?;
    let delivery = inbox::take(&inbox, Selection::default())?;
    let events = json!({ "events": delivery.events() });
    delivery.delivered()?;
    Ok(events)
}

/// Reads the whole output.
fn read(outlive: &Outlive) -> Result<Vec<u8>, String> {
    let id = outlive.find(ID).map_err(|error| error.to_string())?;
    let part = log::Part::Bytes { from: 0, to: None };
    let log = log::log(outlive, &id, &part).map_err(|error| error.to_string())?;
    let mut output = Vec::new();
    let pieces = log.pieces().map_err(|error| error.to_string())?;
    for piece in pieces {
        if let Piece::Bytes { bytes, .. } = piece.map_err(|error| error.to_string())? {
            output.extend(bytes);
        }
    }
    log.receipt(outlive)
        .told()
        .map_err(|error| error.to_string())?;
    Ok(output)
}
