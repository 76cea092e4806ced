//! The clients of a courier: each has a connection, a request, and a thread.

use super::ask::{self, Said};
use super::containers;
use super::desk::Courier;
use super::relay::{EndOf, Opened, Relaying};
use super::{starts, thread};
use crate::clock;
use crate::hooks::{self, CourierHook};
use crate::places::Unreached;
use crate::places::dial::{Reply, Request};
use outlive_core::BootTime;
use outlive_core::far::{Answer, Call, FarFailure, FarFile, MAX_CALL, Opening};
use outlive_sys::control::{Listener, Read, Stream};
use outlive_sys::poll::{self, Interest};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// How long a client may take to send its request, or to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Accepts clients for ever. Those of other users are not accepted.
pub fn accept(courier: &Arc<Courier>, listener: &Listener) -> io::Result<()> {
    loop {
        poll::wait(&[(listener.as_fd(), Interest::Readable)], None)?;
        while let Some(client) = accept_next(courier, listener)? {
            let (mine, present) = (Arc::clone(courier), courier.arrived());
            let begun = thread("client", move || {
                let _present = present;
                serve(&mine, &Arc::new(client));
            });
            // Its connection is closed by now.
            if let Err(error) = begun {
                courier.log.note(&format!("cannot serve a client: {error}"));
            }
        }
    }
}

fn accept_next(courier: &Courier, listener: &Listener) -> io::Result<Option<Stream>> {
    /// There is no notification of a descriptor that becomes free.
    const PAUSE: Duration = Duration::from_millis(100);
    match listener.accept() {
        Err(error) if [EMFILE, ENFILE].map(Some).contains(&error.raw_os_error()) => {
            courier.log.note(&format!("clients have to wait: {error}"));
            std::thread::sleep(PAUSE);
            Ok(None)
        }
        other => other,
    }
}

/// Too many open files, in this process or in the system.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

fn serve(courier: &Arc<Courier>, client: &Arc<Stream>) {
    let Some(request) = read_request(client) else {
        return;
    };
    hooks::reach_courier(CourierHook::Asked);
    let by = |within_ms| clock::boot() + Duration::from_millis(within_ms);
    let reply = match request {
        Request::Greet { within_ms } => greet(courier, by(within_ms)),
        Request::Call { call, within_ms } => self::call(courier, &call, by(within_ms)),
        Request::Follow { job, within_ms } => starts::follow(courier, &job, by(within_ms)),
        Request::Start {
            job,
            variables,
            within_ms,
            again,
        } => {
            let reply = |reply: &Reply| drop(answer(client, reply));
            return starts::start(courier, &job, variables, by(within_ms), again, reply);
        }
        Request::Open { opening, within_ms } => {
            return open(courier, client, &opening, by(within_ms));
        }
        Request::Listen => return listen(courier, client),
        Request::Leave => {
            let _ = answer(client, &Reply::Leaving);
            courier.leave();
            // The connection ends with the process.
            loop {
                std::thread::park();
            }
        }
    };
    let _ = answer(client, &reply);
}

fn read_request(client: &Stream) -> Option<Request> {
    let until = clock::boot() + PATIENCE;
    let mut line = Vec::new();
    loop {
        let left = until.since(clock::boot());
        poll::wait(&[(client.as_fd(), Interest::Readable)], Some(left)).ok()?;
        let mut buffer = [0; 4096];
        // Nothing follows the line before it is answered.
        match client.read(&mut buffer).ok()? {
            Read::Bytes(count) => line.extend_from_slice(&buffer[..count]),
            Read::Empty => {}
            Read::End => return None,
        }
        if line.last() == Some(&b'\n') {
            return serde_json::from_slice(&line).ok();
        }
        if line.len() > MAX_CALL || clock::boot() >= until {
            return None;
        }
    }
}

/// Sends the answer.
pub fn answer(client: &Stream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        let count = client.write(rest)?;
        rest = &rest[count..];
        if count == 0 {
            let ready = poll::wait(&[(client.as_fd(), Interest::Writable)], Some(PATIENCE))?;
            if ready != [true] {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
    Ok(())
}

fn greet(courier: &Courier, by: BootTime) -> Reply {
    match courier.wire(by) {
        Ok(wire) => match wire.greeting() {
            Some(greeting) => Reply::Greeting(Box::new(greeting.clone())),
            None => Reply::Unreached(Unreached::TimedOut),
        },
        Err(why) => Reply::Unreached(why),
    }
}

/// Asks over the next wire again if one is lost. Every call can be repeated.
pub fn call(courier: &Arc<Courier>, call: &Call, by: BootTime) -> Reply {
    let mut was_sent = false;
    loop {
        let wire = match courier.wire(by) {
            Ok(wire) => wire,
            Err(why) => return without_wire(courier, call, why, was_sent, by),
        };
        match call {
            Call::Remove { jobs } => courier.ack_all_of(&wire, jobs),
            Call::Standing { .. } => settle(courier),
            _ => {}
        }
        let asked = match ask::send(&wire, call) {
            Ok(asked) => asked,
            Err(_) if clock::boot() < by && wire.is_lost() => continue,
            Err(why) => return not_reached(was_sent, why),
        };
        match asked.wait(Some(by)) {
            Some(Said::Answer(answer)) => return Reply::Answer(Box::new(answer)),
            Some(Said::Lost(why)) if clock::boot() >= by => return Reply::Lost(why),
            Some(Said::Lost(_)) => was_sent = true,
            Some(Said::Unreadable(why)) => return Reply::Lost(why),
            None => return Reply::Lost(Unreached::TimedOut),
        }
    }
}

/// The answer of a place that was not reached. What was in a container that exists no more is removed with it.
fn without_wire(
    courier: &Courier,
    call: &Call,
    why: Unreached,
    was_sent: bool,
    by: BootTime,
) -> Reply {
    match (call, &why) {
        (Call::Remove { jobs }, Unreached::NoSuchInstance(_))
            if containers::are_gone(courier, jobs, by) =>
        {
            let left = Vec::new();
            Reply::Answer(Box::new(Answer::Removed { left }))
        }
        _ => not_reached(was_sent, why),
    }
}

/// The newest reason says most: the first one may be that a connection was closed.
fn not_reached(was_sent: bool, why: Unreached) -> Reply {
    match was_sent {
        true => Reply::Lost(why),
        false => Reply::Unreached(why),
    }
}

fn open(courier: &Courier, client: &Arc<Stream>, opening: &Opening, by: BootTime) {
    let reply = match open_relay(courier, client, opening, by) {
        Ok(relaying) => {
            if answer(client, &Reply::Opened).is_ok() {
                relaying.run();
            }
            return;
        }
        Err(reply) => reply,
    };
    let _ = answer(client, &reply);
}

fn open_relay(
    courier: &Courier,
    client: &Arc<Stream>,
    opening: &Opening,
    by: BootTime,
) -> Result<Relaying, Reply> {
    let end = match opening {
        // The client speaks first, and the end of the stream is that of the connection.
        Opening::Control { .. } | Opening::Exec { .. } => EndOf::Keeper,
        Opening::Bytes {
            file: FarFile::Output | FarFile::Index | FarFile::Streams,
            ..
        } => EndOf::File,
        Opening::Call(_) | Opening::LongCall | Opening::Journals => {
            return Err(Reply::Failed(FarFailure {
                code: "bad_input".to_owned(),
                message: "a courier opens no such stream for a client".to_owned(),
            }));
        }
    };
    loop {
        let wire = courier.wire(by).map_err(Reply::Unreached)?;
        let relaying = match Relaying::open(Arc::clone(&wire), Arc::clone(client), opening, end) {
            Ok(relaying) => relaying,
            Err(_) if wire.is_lost() && clock::boot() < by => continue,
            Err(why) => return Err(Reply::Unreached(why)),
        };
        // In the protocol of keepers the client speaks first.
        if end == EndOf::Keeper {
            return Ok(relaying);
        }
        match relaying.wait_for_first_word(by) {
            Opened::Yes => return Ok(relaying),
            Opened::Refused(failure) => {
                relaying.call_off();
                return Err(Reply::Failed(failure));
            }
            Opened::Lost(why) => {
                relaying.call_off();
                if clock::boot() >= by {
                    return Err(Reply::Unreached(why));
                }
            }
        }
    }
}

/// Finds out about starts of which nobody knows how they went, if there is a wire. A new one does so anyway.
fn settle(courier: &Arc<Courier>) {
    let Some(wire) = courier.wire_now() else {
        return;
    };
    let mine = Arc::clone(courier);
    let _ = thread("settle", move || starts::settle(&mine, &wire, None));
}

/// Keeps a client that listens until it leaves.
fn listen(courier: &Arc<Courier>, client: &Arc<Stream>) {
    if answer(client, &Reply::Opened).is_err() {
        return;
    }
    let number = courier.listen(client);
    settle(courier);
    loop {
        let _ = poll::wait(&[(client.as_fd(), Interest::Readable)], None);
        if !matches!(client.read(&mut [0; 256]), Ok(Read::Bytes(_) | Read::Empty)) {
            break;
        }
    }
    courier.unlisten(number);
}
