//! Who is connected to the control socket, and what they wait for.
//!
//! Each line is a request and becomes a [`ClientRequest`]. The keeper answers it now, or when the thing that it waits for
//! has happened. A client that does not read its answers, or sends something else than requests, is disconnected. It can
//! connect again, and nothing of the job depends on it.

use outlive_core::control::{MAX_LINE, Reply, Request, UNKNOWN_REQUEST};
use outlive_sys::control::{Listener, Read, Stream};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The number of a connection in [`Clients`]. It is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(u64);

/// Everyone connected.
#[derive(Debug, Default)]
pub struct Clients {
    list: Vec<Client>,
    next: u64,
}

#[derive(Debug)]
struct Client {
    id: ClientId,
    stream: Stream,
    /// The beginning of a line.
    input: Vec<u8>,
    waits_for: WaitsFor,
}

/// What a client's last request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    Nothing,
    News {
        seq: u64,
        output: Option<u64>,
    },
    /// That nothing of the tree is left.
    Stopped,
    /// Its turn to write, or room for what it has written.
    Room(Written),
    /// A process of the job that waits for input.
    Input,
}

/// How to answer a write once there is room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// For a client of the first release, which does not ask whether the write is a repeated one.
    Plain,
    New,
    /// A write of this id was accepted before.
    Repeated,
}

impl Written {
    pub fn reply(self) -> Reply {
        match self {
            Written::Plain => Reply::Written,
            Written::New => Reply::Accepted { repeated: false },
            Written::Repeated => Reply::Accepted { repeated: true },
        }
    }
}

/// A request to answer.
#[derive(Debug)]
pub struct ClientRequest {
    pub client: ClientId,
    pub request: Request,
}

impl Clients {
    pub fn fds(&self) -> impl Iterator<Item = (ClientId, BorrowedFd<'_>)> {
        self.list
            .iter()
            .map(|client| (client.id, client.stream.as_fd()))
    }

    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Accepts connections until there are `most`.
    pub fn accept(&mut self, listener: &Listener, most: usize) -> io::Result<()> {
        while self.count() < most
            && let Some(stream) = listener.accept()?
        {
            let id = ClientId(self.next);
            self.next += 1;
            self.list.push(Client {
                id,
                stream,
                input: Vec::new(),
                waits_for: WaitsFor::Nothing,
            });
        }
        Ok(())
    }

    /// Reads what a client sent. If it has disconnected, it is removed.
    pub fn read(&mut self, id: ClientId) -> Vec<ClientRequest> {
        let Some(client) = self.list.iter_mut().find(|client| client.id == id) else {
            return Vec::new();
        };
        match client.read_requests() {
            Some(requests) => requests
                .into_iter()
                .map(|request| ClientRequest {
                    client: id,
                    request,
                })
                .collect(),
            None => {
                self.let_go(id);
                Vec::new()
            }
        }
    }

    pub fn await_news(&mut self, id: ClientId, seq: u64, output: Option<u64>) {
        self.set(id, WaitsFor::News { seq, output });
    }

    pub fn await_room(&mut self, id: ClientId, written: Written) {
        self.set(id, WaitsFor::Room(written));
    }

    pub fn await_input(&mut self, id: ClientId) {
        self.set(id, WaitsFor::Input);
    }

    pub fn is_input_awaited(&self) -> bool {
        self.list
            .iter()
            .any(|client| client.waits_for == WaitsFor::Input)
    }

    pub fn is_there(&self, id: ClientId) -> bool {
        self.list.iter().any(|client| client.id == id)
    }

    pub fn await_stopped(&mut self, id: ClientId) {
        self.set(id, WaitsFor::Stopped);
    }

    fn set(&mut self, id: ClientId, waits_for: WaitsFor) {
        if let Some(client) = self.list.iter_mut().find(|client| client.id == id) {
            client.waits_for = waits_for;
        }
    }

    pub fn reply(&mut self, id: ClientId, reply: &Reply) {
        let Some(client) = self.list.iter_mut().find(|client| client.id == id) else {
            return;
        };
        if !client.send(reply) {
            self.let_go(id);
        }
    }

    /// Answers the clients that wait for news, if there are any for them.
    pub fn tell_news(&mut self, seq: u64, output: u64) {
        let reply = Reply::News { seq, output };
        self.answer(&reply, |waits_for| match waits_for {
            WaitsFor::News {
                seq: known,
                output: read,
            } => seq > known || read.is_some_and(|read| output > read),
            WaitsFor::Nothing | WaitsFor::Stopped | WaitsFor::Room(_) | WaitsFor::Input => false,
        });
    }

    pub fn tell_stopped(&mut self) {
        self.answer(&Reply::Stopped, |waits_for| waits_for == WaitsFor::Stopped);
    }

    /// Tells clients that wait for the stop why it cannot be completed.
    pub fn tell_stop_failed(&mut self, reason: String) {
        let reply = Reply::Refused { reason };
        self.answer(&reply, |waits_for| waits_for == WaitsFor::Stopped);
    }

    /// There is room: clients that wait for it may continue.
    pub fn tell_room(&mut self) {
        for written in [Written::Plain, Written::New, Written::Repeated] {
            let is_it = |waits_for| waits_for == WaitsFor::Room(written);
            self.answer(&written.reply(), is_it);
        }
    }

    /// Tells clients that wait for room why there will be none.
    pub fn tell_no_room(&mut self, reason: String) {
        let is_it = |waits_for| matches!(waits_for, WaitsFor::Room(_));
        self.answer(&Reply::Refused { reason }, is_it);
    }

    pub fn tell_input(&mut self, reply: &Reply) {
        self.answer(reply, |waits_for| waits_for == WaitsFor::Input);
    }

    fn answer(&mut self, reply: &Reply, due: impl Fn(WaitsFor) -> bool) {
        self.list.retain_mut(|client| {
            if !due(client.waits_for) {
                return true;
            }
            client.waits_for = WaitsFor::Nothing;
            client.send(reply)
        });
    }

    pub fn let_go(&mut self, id: ClientId) {
        self.list.retain(|client| client.id != id);
    }
}

impl Client {
    /// `None` if the client must be disconnected.
    fn read_requests(&mut self) -> Option<Vec<Request>> {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(Read::Bytes(count)) => self.input.extend_from_slice(&buffer[..count]),
                Ok(Read::Empty) => break,
                Ok(Read::End) | Err(_) => return None,
            }
            if self.input.len() > MAX_LINE {
                return None;
            }
        }
        let mut requests = Vec::new();
        while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(request) => requests.push(request),
                Err(error) => {
                    let reason = format!("{UNKNOWN_REQUEST}: {error}");
                    if !self.send(&Reply::Refused { reason }) {
                        return None;
                    }
                }
            }
        }
        Some(requests)
    }

    /// Answers are short. If one does not fit, the client reads nothing.
    fn send(&self, reply: &Reply) -> bool {
        let Ok(mut line) = serde_json::to_vec(reply) else {
            return false;
        };
        line.push(b'\n');
        self.stream
            .write(&line)
            .is_ok_and(|count| count == line.len())
    }
}
