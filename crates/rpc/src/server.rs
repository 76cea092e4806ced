//! What becomes of each message of the harness.

use crate::calls::{self, Call, Shared, Verb};
use crate::decoder::{Decoder, Input, Malformed};
use crate::desk::{Desk, Orders};
use crate::files::Files;
use crate::out::{Out, failure, stdout};
use crate::under_way::UnderWay;
use outlive::Outlive;
use outlive::api::failure::ErrorCode;
use outlive_api::os_text::OsText;
use outlive_api::rpc::{Ask, Greeting, Hello, Message, PROTOCOL};
use std::io::{self, Read};
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long calls that have begun may take when the harness has closed its end. They are carried out in any case; this
/// is about their answers.
const LEAVING: Duration = Duration::from_secs(5);

/// Everything that a message may need.
#[derive(Clone, Debug)]
struct Server {
    outlive: Outlive,
    out: Arc<Out>,
    under_way: Arc<UnderWay>,
    shared: Shared,
    files: Arc<Files>,
    orders: Arc<Orders>,
}

/// Serves the harness on standard input and output, until it closes its end.
pub fn serve(outlive: Outlive) -> io::Result<()> {
    let out = Arc::new(Out::to(stdout()?));
    out.hello(&hello(&outlive));
    let shared = Shared::default();
    let files = Arc::default();
    let desk = Desk::new(&outlive, &shared.pool, &files).map_err(io::Error::other)?;
    let server = Server {
        orders: desk.orders(),
        under_way: Arc::default(),
        outlive,
        out,
        shared,
        files,
    };
    let desk = thread::Builder::new().spawn(move || desk.work())?;
    let read = server.read(io::stdin().lock());
    server.orders.leave();
    server.shared.pool.wait_until_done(LEAVING);
    // It removes what it has made in the home. If it writes to a harness that reads nothing, it is left alone.
    let begun = std::time::Instant::now();
    while !desk.is_finished() && begun.elapsed() < Duration::from_millis(200) {
        thread::sleep(Duration::from_millis(1));
    }
    read
}

fn hello(outlive: &Outlive) -> Hello {
    Hello {
        hello: Greeting {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            pid: process::id(),
            home: OsText::from(outlive.home().root()),
            verbs: calls::verbs().map(str::to_owned).collect(),
        },
    }
}

impl Server {
    /// Reads messages until the input ends. Nothing here waits for the harness to read.
    fn read(&self, mut from: impl Read) -> io::Result<()> {
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => decoder.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            while let Some(input) = decoder.next_input() {
                self.shared.pool.wait_for_room();
                self.take(input);
            }
        }
    }

    fn take(&self, input: Input) {
        match input {
            Input::Message(Message::Ask(ask), raw) => self.ask(ask, raw),
            Input::Message(Message::Cancel(cancel), _) => {
                // One that was answered meanwhile needs no other answer.
                if let Some(request) = self.under_way.get(&cancel.cancel) {
                    let orders = self.orders.clone();
                    self.shared.pool.run(move || {
                        request.cancel();
                        orders.sweep();
                    });
                }
            }
            Input::Message(Message::Taken(taken), _) => {
                if let Some(request) = self.under_way.get(&taken.taken) {
                    let had_room = request.has_room();
                    request.taken(taken.sent);
                    if !had_room && request.has_room() {
                        self.orders.resume(taken.taken);
                    }
                }
            }
            Input::Message(Message::Told(told), _) => {
                if let Some(record) = self.shared.receipts.take(&told.told) {
                    // If this fails, the session is told again.
                    self.shared.pool.run(move || drop(record()));
                }
            }
            Input::Message(Message::Answer(answer), _) => {
                let lends = self.shared.lends.clone();
                self.shared
                    .pool
                    .run(move || lends.answer(&answer.answer, answer.result));
            }
            Input::Malformed(Malformed { id, reason }) => {
                let out = self.out.clone();
                let error = failure(ErrorCode::BadInput, reason);
                self.shared.pool.run(move || out.refuse(id, error));
            }
        }
    }

    fn ask(&self, ask: Ask, raw: Option<Vec<u8>>) {
        self.shared.receipts.forget_old();
        let id = ask.id.clone();
        let Some(request) = self.under_way.begin(id.clone(), ask.window, &self.out) else {
            let reason =
                format!("the request {id} is not answered yet; give each one an id of its own");
            return self.take(Input::Malformed(Malformed { id: None, reason }));
        };
        let verb = match calls::find(&ask.verb) {
            Ok(_) if raw.is_some() && ask.verb != "send" => {
                Err(calls::Refused::bad("only `send` takes raw bytes"))
            }
            found => found,
        };
        // What is written to a job arrives in the order in which it was sent.
        let line = (ask.verb == "send").then(|| ask.request["job"].to_string());
        let call = Arc::new(Call::new(&self.outlive, ask, raw, request, &self.shared));
        let (orders, files) = (self.orders.clone(), self.files.clone());
        let task = move || {
            let _admitted = files.admit();
            let done = match verb {
                Ok(Verb::Call(verb)) => verb(&call),
                Ok(Verb::Stream(verb)) => verb(&call).map(|stream| orders.begin(stream)),
                Err(refused) => Err(refused),
            };
            if let Err(refused) = done {
                call.request.refuse(refused.failure());
            }
        };
        match line {
            Some(line) => self.shared.pool.run_in_line(line, task),
            None => self.shared.pool.run(task),
        }
    }
}
