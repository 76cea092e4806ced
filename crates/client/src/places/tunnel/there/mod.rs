//! The far side of a tunnel: what one call does at the place.
//!
//! ```text
//!  far-DIGEST carry REQUEST ──socket──► mailbox ══ pipes ══ the far end, in the same process
//!        └──► <<outlive … >>   ◄────────┘
//! ```
//! The first call of a tunnel starts the process with the far end. It is detached: the caller's output ends with the call.
//! It leaves when the wire is over, and when no call has come for as long as the last one said.
//!
//! A tunnel begins once: its directory `tunnels/<id>` stays for a day, so that a first call that is executed again,
//! however late, begins no other far end. That one would say hello, and the wire that is in use would be stale.

mod mailbox;

use super::message::{self, Answer, Request, TunnelId};
use super::{base64, marker};
use crate::environment;
use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::places::{Unreached, bootstrap};
use mailbox::Mailbox;
use outlive_core::layout;
use outlive_core::os_text::OsText;
use outlive_sys::child::{self, Forked};
use outlive_sys::control::{Listener, Read, Stream};
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::own;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// The socket in the directory of a tunnel.
const SOCKET: &str = "mailbox";

/// A file in the directory of a tunnel that is over.
const OVER: &str = "over";

/// How long the call that begins a tunnel may take until its mailbox can be reached.
const BEGINNING: Duration = Duration::from_secs(10);

/// How long a mailbox may take to accept a call, and longer than the call waits for news, to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The directory of a tunnel stays this long.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest request.
const MAX_REQUEST: u64 = 1024 * 1024;

/// Carries out one call: reads a request, and prints its answer as a line. The request is the argument; if that is `-`, it
/// is read from the standard input, and without an argument it is in the environment.
pub fn carry(argument: Option<&OsStr>) -> Result<(), Error> {
    let text = read_request(argument)?;
    let request = base64::decode(&text);
    let request = request.as_deref().and_then(message::decode::<Request>);
    let Some((request, bytes)) = request else {
        return Err(broken("the request", "it is damaged"));
    };
    let answer = carried(&request, bytes).unwrap_or_else(|error| {
        let answer = Answer {
            tunnel: request.tunnel.clone(),
            call: request.call,
            taken: 0,
            at: request.had,
            home: None,
            more: false,
            over: Some(Unreached::Refused(error.to_string())),
        };
        message::encode(&answer, &[])
    });
    let mut output = io::stdout().lock();
    let line = marker::line(&answer);
    let written = output.write_all(line.as_bytes());
    written
        .and_then(|()| output.flush())
        .map_err(Error::io("cannot write to", "standard output"))
}

fn read_request(argument: Option<&OsStr>) -> Result<Vec<u8>, Error> {
    match argument {
        Some(dash) if dash == "-" => {
            let mut text = Vec::new();
            let mut input = io::stdin().lock().take(MAX_REQUEST);
            let read = input.read_to_end(&mut text);
            read.map_err(Error::io("cannot read", "standard input"))?;
            Ok(text)
        }
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => {
            let text = environment::non_empty(environment::REQUEST);
            text.map(|text| text.as_bytes().to_vec())
                .ok_or_else(|| broken("the request", "there is none"))
        }
    }
}

fn broken(what: &'static str, why: &str) -> Error {
    Error::io("cannot understand", what)(io::Error::new(io::ErrorKind::InvalidData, why.to_owned()))
}

/// A directory as the configuration has it, where `~` stands for the login directory here.
fn below_login(path: &Path) -> PathBuf {
    let login = environment::non_empty("HOME").map(PathBuf::from);
    match (path.strip_prefix("~"), login) {
        (Ok(below), Some(login)) => login.join(below),
        _ => path.to_owned(),
    }
}

/// The answer of the mailbox, as a message.
fn carried(request: &Request, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let outlive = match &request.home {
        None => Outlive::open()?,
        Some(home) => Outlive::open_at(below_login(home.as_path()))?,
    };
    let directory = directory(&outlive, &request.tunnel);
    let stream = match &request.begin {
        None => connect(&directory, Duration::ZERO)?,
        Some(_) => begin(&outlive, request, &directory)?,
    };
    let Some(stream) = stream else {
        // It has left, was killed, or is of another boot.
        return Ok(message::encode(&gone(request), &[]));
    };
    let asked = message::encode(request, bytes);
    let patience = Duration::from_millis(request.patience_ms) + PATIENCE;
    match exchange(&stream, &asked, Instant::now() + patience) {
        Ok(answer) if !answer.is_empty() => Ok(answer),
        // It was killed meanwhile. The next call tells.
        Ok(_) | Err(_) => Err(broken("the mailbox", "it did not answer")),
    }
}

fn gone(request: &Request) -> Answer {
    let why = "the far end has left, or was killed";
    Answer {
        tunnel: request.tunnel.clone(),
        call: request.call,
        taken: 0,
        at: request.had,
        home: None,
        more: false,
        over: Some(Unreached::Refused(why.to_owned())),
    }
}

fn directory(outlive: &Outlive, tunnel: &TunnelId) -> PathBuf {
    outlive.home().tunnels().join(tunnel.as_str())
}

/// Starts the far end if this tunnel never had one. Both processes return from the fork; only the caller's returns from
/// here.
fn begin(outlive: &Outlive, request: &Request, directory: &Path) -> Result<Option<Stream>, Error> {
    let Some(begin) = &request.begin else {
        return Ok(None);
    };
    let own = bootstrap::check_own_program(&begin.digest);
    own.map_err(Error::io("cannot use", "/proc/self/exe"))?;
    outlive.prepare()?;
    let tunnels = outlive.home().tunnels();
    make_private(&tunnels)?;
    match DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {}
        // The same call is executed once more.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return connect(directory, BEGINNING);
        }
        Err(error) => return Err(Error::io("cannot make the directory", directory)(error)),
    }
    let failed = |error| Error::io("cannot listen in", directory)(error);
    let listener = Listener::bind(directory, SOCKET).map_err(failed)?;
    match child::fork_here().map_err(Error::io("cannot start", "the far end"))? {
        Forked::Parent(_) => {
            drop(listener);
            connect(directory, Duration::ZERO)
        }
        Forked::Child => {
            let served = hold(outlive.clone(), request, listener);
            let _ = layout::make(&directory.join(OVER));
            let _ = fs::remove_file(directory.join(SOCKET));
            remove_old(&tunnels);
            exit(i32::from(served.is_err()));
        }
    }
}

/// Is the process of the far end, until the wire is over.
fn hold(outlive: Outlive, request: &Request, listener: Listener) -> io::Result<()> {
    // Nothing here may hold the caller's output: the caller waits for its end.
    drop(own::take_handed_down()?);
    let _ = own::new_session();
    let _ = std::env::set_current_dir("/");
    let shown = request.begin.as_ref().is_some_and(|begin| begin.shown);
    let home = OsText::from(outlive.home().root().as_os_str().to_owned());
    let (mailbox, input, output) = Mailbox::new(request.tunnel.clone(), home)?;
    mailbox.accept(listener)?;
    let served = crate::places::far::serve_tunnel(outlive.as_own_keeper(), input, output, shown);
    mailbox.finish(served.err().map(|error| error.to_string()));
    Ok(())
}

/// Connects to the mailbox of a tunnel. If there is none yet, tries again until this time is over.
fn connect(directory: &Path, within: Duration) -> Result<Option<Stream>, Error> {
    /// A directory without a socket gives no notification of one.
    const PAUSE: Duration = Duration::from_millis(5);
    let until = Instant::now() + within;
    loop {
        let stream = Stream::connect(directory, SOCKET, PATIENCE);
        let stream = stream.map_err(Error::io("cannot connect to the mailbox in", directory))?;
        let is_over = || directory.join(OVER).exists();
        if stream.is_some() || Instant::now() >= until || is_over() {
            return Ok(stream);
        }
        thread::sleep(PAUSE);
    }
}

/// Sends the request and reads the answer to its end. Ends early if nobody reads what this process prints.
fn exchange(stream: &Stream, asked: &[u8], until: Instant) -> io::Result<Vec<u8>> {
    let mut rest = asked;
    while !rest.is_empty() {
        let count = stream.write(rest)?;
        rest = &rest[count..];
    }
    stream.shut_writing();
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let output = io::stdout();
    loop {
        let on = [
            (stream.as_fd(), Interest::Readable),
            (output.as_fd(), Interest::HangUp),
        ];
        let left = until.saturating_duration_since(Instant::now());
        let ready = poll::wait(&on, Some(left))?;
        if ready[1] {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !ready[0] {
            match left.is_zero() {
                true => return Err(io::ErrorKind::TimedOut.into()),
                false => continue,
            }
        }
        match stream.read(&mut buffer)? {
            Read::Bytes(count) => answer.extend_from_slice(&buffer[..count]),
            Read::Empty => {}
            Read::End => return Ok(answer),
        }
    }
}

/// Removes the directories of tunnels that ended long ago.
fn remove_old(tunnels: &Path) {
    for entry in fs::read_dir(tunnels).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|found| found.modified());
        let age = age
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        let has_left = !entry.path().join(SOCKET).exists();
        if has_left && age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
