//! One call: the command line, and the answers that stand in its text.

use super::reach::{self, Reached};
use super::trouble::{Trouble, words};
use crate::places::Place;
use crate::places::bootstrap::Program;
use crate::places::tunnel::execute::{Execute, Execution, Failed, Private, Text};
use crate::places::tunnel::message::{self, Answer, Request};
use crate::places::tunnel::{base64, marker};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How much longer than it waits there a call may take. A machine may be slow, and so may be the way to it.
const SLACK: Duration = Duration::from_secs(15);

/// How long a command of an upload may take.
const UPLOADING: Duration = Duration::from_secs(30);

/// Makes calls, several at once.
pub struct Caller {
    place: Place,
    program: Program,
    execute: Arc<dyn Execute>,
    private: Option<Private>,
    /// The path of the program there.
    path: Mutex<Option<String>>,
    has_begun: AtomicBool,
}

/// A call to be made.
pub struct Order {
    pub request: Request,
    pub bytes: Vec<u8>,
}

/// A call that was made.
pub struct Called {
    pub number: u64,
    /// All answers of this tunnel that stand in its text, with their bytes.
    pub answers: Result<Vec<(Answer, Vec<u8>)>, Trouble>,
}

impl Caller {
    pub fn new(
        place: Place,
        program: Program,
        execute: Arc<dyn Execute>,
        private: Option<Private>,
    ) -> Caller {
        Caller {
            place,
            program,
            execute,
            private,
            path: Mutex::default(),
            has_begun: AtomicBool::new(false),
        }
    }

    /// Whether the far end runs, as far as is known.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// The far end has answered.
    pub fn begun(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    fn path(&self) -> Option<String> {
        let path = self.path.lock().unwrap_or_else(PoisonError::into_inner);
        path.clone()
    }

    pub fn call(&self, order: &Order) -> Called {
        let request = base64::encode(&message::encode(&order.request, &order.bytes));
        let limit = Duration::from_millis(order.request.patience_ms) + SLACK;
        let text = match self.path() {
            Some(path) => self.carry(&path, &request, limit),
            None => self.reach(&request, limit),
        };
        Called {
            number: order.request.call,
            answers: text,
        }
    }

    /// The first call: finds the program there, or sends it.
    fn reach(&self, request: &str, limit: Duration) -> Result<Vec<(Answer, Vec<u8>)>, Trouble> {
        let run = |command: &str| self.run(command, None, limit.max(UPLOADING));
        let Reached { program, text } = reach::reach(&self.place, &self.program, request, &run)?;
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = Some(program);
        answers(&text, "")
    }

    fn carry(
        &self,
        path: &str,
        request: &str,
        limit: Duration,
    ) -> Result<Vec<(Answer, Vec<u8>)>, Trouble> {
        let path = reach::word(path);
        // What begins the far end is not secret, and needs the whole environment.
        let private = self.private.filter(|_| self.has_begun());
        let command = match private {
            None => format!("{path} carry {request}"),
            Some(Private::Input) => format!("{path} carry -"),
            Some(Private::Variable(_)) => format!("{path} carry"),
        };
        let text = self.run(&command, private.map(|_| request), limit)?;
        answers(&text.output, &text.remark)
    }

    fn run(&self, command: &str, private: Option<&str>, limit: Duration) -> Result<Text, Trouble> {
        let execution = Execution {
            command,
            private,
            limit,
        };
        self.execute
            .execute(&execution)
            .map_err(|failed| match failed {
                Failed::Unreached(why) => Trouble::Final(why),
                Failed::TimedOut => Trouble::TimedOut,
                Failed::Broken(why) => Trouble::Silent(words(&why, &[])),
            })
    }
}

/// The answers that stand in a text. Every one is of use: they say from where on their bytes are.
fn answers(text: &[u8], remark: &str) -> Result<Vec<(Answer, Vec<u8>)>, Trouble> {
    let payloads = marker::find(text);
    let answers = payloads.iter().filter_map(|payload| {
        let (answer, bytes) = message::decode::<Answer>(payload)?;
        Some((answer, bytes.to_vec()))
    });
    let answers: Vec<_> = answers.collect();
    match answers.is_empty() {
        false => Ok(answers),
        true if marker::begins(text) => Err(Trouble::Damaged),
        true => Err(Trouble::Silent(words(remark, text))),
    }
}
