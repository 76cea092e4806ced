//! Lending: a program that already has a sandbox executes commands in it for us, under a name.
//!
//! ```text
//!  a harness with its sandbox ◄─Asked─ Lending ◄─socket─ the near end of a tunnel ═ courier
//!                             ─Done──►         ─────────►
//! ```
//! `caller:NAME` is the place that it lends. Jobs there are kept in the sandbox, so they live as long as that. While nobody
//! lends it, the place is not reached; when somebody lends it again, everything goes on.
//!
//! The socket is `lender` in the directory that a place `caller:NAME` has here. Only this user can connect.

pub mod protocol;

use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::{Address, Place, Settings, dial, records};
use outlive_core::Label;
use outlive_core::layout::{self, PRIVATE};
use outlive_sys::control::{Listener, Read, Stream};
use outlive_sys::lock::{self, Lock, LockResult};
use outlive_sys::poll::{self, Interest};
use protocol::{Asked, Command, Done, Offer, Told, VERSION};
use serde::Serialize;
use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The socket of whoever lends.
pub const SOCKET: &str = "lender";

/// Held by whoever lends.
const LOCK: &str = "lender.lock";

/// A longer line is of no tunnel.
const MAX_LINE: usize = 1024 * 1024;

/// How long a tunnel may take to read an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The directory of what is lent under a name, whatever the places are called that lead there.
pub fn directory(outlive: &Outlive, name: &Label) -> PathBuf {
    records::directory(outlive, &unnamed(name))
}

fn unnamed(name: &Label) -> Place {
    let address = Address::Caller(name.clone());
    Place {
        name: address.to_string(),
        address,
        settings: Settings::default(),
    }
}

/// A sandbox that is lent until this is dropped.
#[derive(Debug)]
pub struct Lending {
    shared: Arc<Shared>,
    _lock: Lock,
}

struct Shared {
    listener: Listener,
    directory: PathBuf,
    offer: Offer,
    ask: Box<dyn Fn(Asked) + Send + Sync>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    connections: HashMap<u64, Arc<Stream>>,
    /// Who asked, and under which number, by the number that the lender knows.
    asked: HashMap<u64, (u64, u64)>,
    is_over: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "what is lent at {}", self.directory.display())
    }
}

/// Lends a sandbox under this name. `ask` is called, by several threads at once, with what is to be executed; it must not wait
/// for that, but hand it on. The results go to [`Lending::answer`].
pub fn lend(
    outlive: &Outlive,
    name: &Label,
    offer: Offer,
    ask: impl Fn(Asked) + Send + Sync + 'static,
) -> Result<Lending, Error> {
    let directory = records::make_directory(outlive, &unnamed(name))?;
    let path = directory.join(LOCK);
    let failed = || Error::io("cannot take the lock", &path);
    let file = layout::open_or_make(&path).map_err(failed())?;
    let LockResult::Acquired(_lock) = lock::take(file).map_err(failed())? else {
        return Err(PlaceError::Lent(name.to_string()).into());
    };
    let socket = directory.join(SOCKET);
    let listener = Listener::bind(&directory, SOCKET);
    let listener = listener.map_err(Error::io("cannot listen at", &socket))?;
    fs::set_permissions(&socket, Permissions::from_mode(PRIVATE))
        .map_err(Error::io("cannot make private", &socket))?;
    let shared = Arc::new(Shared {
        listener,
        directory,
        offer: Offer {
            version: VERSION,
            ..offer
        },
        ask: Box::new(ask),
        table: Mutex::default(),
    });
    let mine = Arc::clone(&shared);
    let begun = thread::Builder::new()
        .name("lender".to_owned())
        .spawn(move || mine.accept());
    begun.map_err(Error::io("cannot begin", "a thread"))?;
    wake_couriers(outlive, name);
    Ok(Lending { shared, _lock })
}

/// Who waits for this place hears at once that it is lent again.
fn wake_couriers(outlive: &Outlive, name: &Label) {
    let address = Address::Caller(name.clone());
    let configured = outlive
        .config()
        .map(|config| config.places)
        .unwrap_or_default();
    let named = configured
        .into_values()
        .filter(|place| place.address == address);
    for place in named.chain([unnamed(name)]) {
        dial::wake(outlive, &place);
    }
}

impl Lending {
    /// Says what came of a command. A command that was called off is not answered.
    pub fn answer(&self, done: Done) {
        let mut table = self.shared.table();
        let Some((connection, theirs)) = table.asked.remove(&done.id) else {
            return;
        };
        let stream = table.connections.get(&connection).cloned();
        drop(table);
        if let Some(stream) = stream {
            let told = Told::Result(Done { id: theirs, ..done });
            if say(&stream, &told).is_err() {
                stream.shut();
            }
        }
    }
}

impl Drop for Lending {
    fn drop(&mut self) {
        let mut table = self.shared.table();
        table.is_over = true;
        let _ = fs::remove_file(self.shared.directory.join(SOCKET));
        self.shared.listener.close();
        for stream in table.connections.values() {
            stream.shut();
        }
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Shared>) {
        loop {
            let waited = poll::wait(&[(self.listener.as_fd(), Interest::Readable)], None);
            let accepted = waited.and_then(|_| self.listener.accept());
            if self.table().is_over {
                return;
            }
            let Ok(stream) = accepted else {
                // Such as too many open files, of which nobody tells when they are fewer.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if let Some(stream) = stream {
                let mine = Arc::clone(self);
                let thread = thread::Builder::new().name("borrower".to_owned());
                let _ = thread.spawn(move || mine.serve(Arc::new(stream)));
            }
        }
    }

    /// Serves one tunnel until it leaves.
    fn serve(&self, stream: Arc<Stream>) {
        let number = {
            let mut table = self.table();
            table.next += 1;
            let number = table.next;
            table.connections.insert(number, Arc::clone(&stream));
            number
        };
        if say(&stream, &Told::Lends(self.offer)).is_ok() {
            read_lines(&stream, MAX_LINE, |line| {
                let asked = serde_json::from_slice(line).ok();
                asked.is_none_or(|asked| self.ask(number, asked))
            });
        }
        let mut table = self.table();
        table.connections.remove(&number);
        let of_this = table
            .asked
            .extract_if(|_, (connection, _)| *connection == number);
        let left: Vec<u64> = of_this.map(|(id, _)| id).collect();
        drop(table);
        for id in left {
            (self.ask)(Asked::Cancel { id });
        }
    }

    /// Passes on what a tunnel asks. Returns whether it may go on.
    fn ask(&self, connection: u64, asked: Asked) -> bool {
        match asked {
            Asked::Execute(command) => {
                let mut table = self.table();
                table.next += 1;
                let id = table.next;
                table.asked.insert(id, (connection, command.id));
                drop(table);
                (self.ask)(Asked::Execute(Command { id, ..command }));
            }
            Asked::Cancel { id: theirs } => {
                let mut table = self.table();
                let mut known = table.asked.iter();
                let id = known.find(|(_, asked)| **asked == (connection, theirs));
                let Some(id) = id.map(|(id, _)| *id) else {
                    return true;
                };
                table.asked.remove(&id);
                drop(table);
                (self.ask)(Asked::Cancel { id });
            }
        }
        true
    }
}

/// Says something in one line.
pub(super) fn say(stream: &Stream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        let count = stream.write(rest)?;
        rest = &rest[count..];
        if count == 0 {
            let ready = poll::wait(&[(stream.as_fd(), Interest::Writable)], Some(PATIENCE))?;
            if ready != [true] {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
    Ok(())
}

/// Calls `take` with each line, until there are no more, one is too long, or it returns false.
pub(super) fn read_lines(stream: &Stream, longest: usize, mut take: impl FnMut(&[u8]) -> bool) {
    let mut text = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if poll::wait(&[(stream.as_fd(), Interest::Readable)], None).is_err() {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(Read::Bytes(count)) => text.extend_from_slice(&buffer[..count]),
            Ok(Read::Empty) => continue,
            Ok(Read::End) | Err(_) => return,
        }
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &text[from..]) {
            if !take(&text[from..from + end]) {
                return;
            }
            from += end + 1;
        }
        text.drain(..from);
        if text.len() > longest {
            return;
        }
    }
}
