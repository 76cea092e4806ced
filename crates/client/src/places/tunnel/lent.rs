//! `caller:NAME`: asks whoever lends a sandbox under this name to execute there.

use super::execute::{Execute, Execution, Failed, Nature, Private, Text};
use crate::home::outlive::Outlive;
use crate::places::Unreached;
use crate::places::lend::protocol::{Asked, Command, Done, Offer, Told, VERSION};
use crate::places::lend::{self, SOCKET};
use outlive_core::{Label, quote};
use outlive_sys::control::Stream;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a lender may take to say what it can do.
const BEGINNING: Duration = Duration::from_secs(10);

/// A lender that ends a command at its time limit has this much longer to say so.
const SAYING: Duration = Duration::from_secs(2);

/// The longest line with a result.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// A connection to a lender.
#[derive(Debug)]
pub struct Lent {
    stream: Arc<Stream>,
    offer: Offer,
    results: Arc<Results>,
}

/// What has come from the lender.
#[derive(Debug, Default)]
struct Results {
    table: Mutex<Table>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    offer: Option<Offer>,
    next: u64,
    /// `None` until its result has come.
    asked: HashMap<u64, Option<Done>>,
    is_over: bool,
}

impl Lent {
    /// Connects to whoever lends under this name.
    pub fn connect(outlive: &Outlive, name: &Label) -> Result<Lent, Unreached> {
        let directory = lend::directory(outlive, name);
        let cannot = |error: std::io::Error| Unreached::Refused(format!("its lender: {error}"));
        let stream = Stream::connect(&directory, SOCKET, BEGINNING).map_err(cannot)?;
        let stream = Arc::new(stream.ok_or_else(nobody)?);
        let results = Arc::new(Results::default());
        let (reading, from) = (Arc::clone(&results), Arc::clone(&stream));
        let thread = thread::Builder::new().name("lender".to_owned());
        let begun = thread.spawn(move || {
            lend::read_lines(&from, MAX_LINE, |line| reading.take(line));
            reading.end();
        });
        begun.map_err(cannot)?;
        let offer = results.offer(Instant::now() + BEGINNING)?;
        Ok(Lent {
            stream,
            offer,
            results,
        })
    }
}

fn nobody() -> Unreached {
    Unreached::Refused("nobody lends it now".to_owned())
}

impl Execute for Lent {
    fn nature(&self) -> Result<Nature, Unreached> {
        Ok(Nature {
            is_serial: self.offer.serial,
            private: self.offer.input.then_some(Private::Input),
        })
    }

    fn execute(&self, execution: &Execution<'_>) -> Result<Text, Failed> {
        let id = self.results.expect();
        let command = Command {
            id,
            command: execution.command.to_owned(),
            input: execution.private.map(str::to_owned),
            timeout_ms: execution.limit.as_millis() as u64,
        };
        if lend::say(&self.stream, &Asked::Execute(command)).is_err() {
            return Err(Failed::Unreached(nobody()));
        }
        let until = Instant::now() + execution.limit + SAYING;
        match self.results.wait(id, until) {
            Waited::Done(done) => text_of(done),
            Waited::Over => Err(Failed::Unreached(nobody())),
            Waited::TimedOut => {
                let _ = lend::say(&self.stream, &Asked::Cancel { id });
                Err(Failed::TimedOut)
            }
        }
    }
}

fn text_of(done: Done) -> Result<Text, Failed> {
    let error = done.error.map(|error| quote::line(&error));
    match error {
        Some(error) if done.gone => Err(Failed::Unreached(Unreached::Stopped(error))),
        Some(error) if done.output.is_empty() => Err(Failed::Broken(error)),
        None if done.gone => {
            let why = "its lender says that it is gone".to_owned();
            Err(Failed::Unreached(Unreached::Stopped(why)))
        }
        None if done.timed_out && done.output.is_empty() => Err(Failed::TimedOut),
        remark => Ok(Text {
            output: done.output.into_bytes(),
            remark: remark.unwrap_or_default(),
        }),
    }
}

enum Waited {
    Done(Done),
    /// The lender is gone.
    Over,
    TimedOut,
}

impl Results {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, line: &[u8]) -> bool {
        let mut table = self.table();
        match serde_json::from_slice(line) {
            Ok(Told::Lends(offer)) => table.offer = Some(offer),
            Ok(Told::Result(done)) => {
                if let Some(asked) = table.asked.get_mut(&done.id) {
                    *asked = Some(done);
                }
            }
            // A later release says more.
            Err(_) => {}
        }
        self.changed.notify_all();
        true
    }

    fn end(&self) {
        self.table().is_over = true;
        self.changed.notify_all();
    }

    fn offer(&self, until: Instant) -> Result<Offer, Unreached> {
        let mut table = self.table();
        loop {
            match table.offer {
                Some(offer) if offer.version == VERSION => return Ok(offer),
                Some(offer) => {
                    return Err(Unreached::NotUnderstood(format!(
                        "its lender speaks version {}, and this program version {VERSION}",
                        offer.version
                    )));
                }
                None if table.is_over => return Err(nobody()),
                None => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Unreached::TimedOut);
            }
            let waited = self.changed.wait_timeout(table, left);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A number for a command whose result is wanted.
    fn expect(&self) -> u64 {
        let mut table = self.table();
        table.next += 1;
        let id = table.next;
        table.asked.insert(id, None);
        id
    }

    fn wait(&self, id: u64, until: Instant) -> Waited {
        let mut table = self.table();
        loop {
            if let Some(Some(_)) = table.asked.get(&id)
                && let Some(Some(done)) = table.asked.remove(&id)
            {
                return Waited::Done(done);
            }
            let left = until.saturating_duration_since(Instant::now());
            if table.is_over || left.is_zero() {
                table.asked.remove(&id);
                return match table.is_over {
                    true => Waited::Over,
                    false => Waited::TimedOut,
                };
            }
            let waited = self.changed.wait_timeout(table, left);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
