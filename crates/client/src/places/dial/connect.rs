//! One request to a courier: connects, starts a courier if there is none, and asks the next one if it goes away.

use super::{Reply, Request};
use crate::clock;
use crate::doorbell::own_program;
use crate::environment;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::launch::keeper_process::remember;
use crate::places::records::{self, SOCKET};
use crate::places::settings::Place;
use crate::places::unreached::Unreached;
use outlive_core::BootTime;
use outlive_sys::control::{Read, Stream};
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::PidFd;
use outlive_sys::spawn;
use std::cell::Cell;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How long a courier may take to accept a connection, to begin, or to answer what it can answer by itself.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever wants an answer sooner than that waits this much longer than the place has, and no more.
const A_LITTLE: Duration = Duration::from_secs(2);

/// A courier writes this byte when it or another one listens. Anything else is the reason why not.
pub const LISTENS: u8 = b'+';

/// A courier that was started may be killed before it listens. More often than that, something is wrong.
const MAX_STARTS: usize = 10;

/// Before a request is sent again for the second time, and each time after that.
const PAUSE: Duration = Duration::from_millis(20);

/// The most bytes of an answer: far more than any has.
const MAX_REPLY: usize = 32 << 20;

/// A request with a time limit.
pub struct Exchange<'a> {
    outlive: &'a Outlive,
    place: &'a Place,
    by: BootTime,
    was_asked: Cell<bool>,
    /// How long a courier may take for each step that needs no place.
    patience: Duration,
}

/// What came of asking a courier.
enum Asked {
    Reply(Reply, Stream),
    /// It ended without an answer.
    Gone,
}

impl<'a> Exchange<'a> {
    pub fn new(outlive: &'a Outlive, place: &'a Place, within: Duration) -> Exchange<'a> {
        Exchange {
            outlive,
            place,
            by: clock::boot() + within,
            was_asked: Cell::new(false),
            patience: PATIENCE.min(within.saturating_add(A_LITTLE)),
        }
    }

    /// Whether a courier may have got the request.
    pub fn was_asked(&self) -> bool {
        self.was_asked.get()
    }

    /// Asks until there is an answer. `make` gets the milliseconds that are left, and whether an earlier courier may
    /// have got the request.
    pub fn ask(&self, make: impl Fn(u64, bool) -> Request) -> Result<Reply, Error> {
        self.connect(make).map(|(reply, _)| reply)
    }

    /// The same, and keeps the connection.
    pub fn connect(
        &self,
        make: impl Fn(u64, bool) -> Request,
    ) -> Result<(Reply, Option<Stream>), Error> {
        let mut again = false;
        loop {
            let stream = self.courier()?;
            let left = self.by.since(clock::boot()).as_millis() as u64;
            self.was_asked.set(true);
            match self.put(stream, &make(left, again))? {
                Asked::Reply(reply, stream) => return Ok((reply, Some(stream))),
                Asked::Gone if clock::boot() < self.by => {
                    // One that was killed is followed at once, and one that closes each connection is not hurried.
                    if std::mem::replace(&mut again, true) {
                        thread::sleep(PAUSE);
                    }
                }
                Asked::Gone => {
                    let why = Unreached::NoCourier("its courier ended before it answered".into());
                    return Ok((Reply::Lost(why), None));
                }
            }
        }
    }

    /// Ends the courier, if there is one, and waits until it has ended.
    pub fn leave(&self) -> Result<(), Error> {
        let Some(stream) = self.running()? else {
            return Ok(());
        };
        if let Asked::Reply(Reply::Leaving, stream) = self.put(stream, &Request::Leave)? {
            let until = clock::boot() + PATIENCE;
            while is_ready(&stream, until) {
                if !matches!(stream.read(&mut [0; 64]), Ok(Read::Bytes(_))) {
                    break;
                }
            }
        }
        Ok(())
    }

    fn put(&self, stream: Stream, request: &Request) -> Result<Asked, Error> {
        let mut line = serde_json::to_vec(request)
            .map_err(|error| Error::io("cannot encode", "a request")(error.into()))?;
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                // It may have answered before it ended.
                Err(_) => break,
            }
        }
        // The courier keeps the time, and this is only for one that hangs.
        match self.reply(&stream, self.by + self.patience)? {
            Some(reply) => Ok(Asked::Reply(reply, stream)),
            None => Ok(Asked::Gone),
        }
    }

    /// Reads one line, and not a byte more: what follows belongs to whoever opened the stream.
    fn reply(&self, stream: &Stream, until: BootTime) -> Result<Option<Reply>, Error> {
        let mut line = Vec::new();
        loop {
            if !is_ready(stream, until) {
                return Err(self.no_courier("its courier does not answer; it may be suspended"));
            }
            let mut buffer = [0; 16 * 1024];
            let seen = match stream.peek(&mut buffer) {
                Ok(Read::Bytes(count)) => &buffer[..count],
                Ok(Read::Empty) => continue,
                Ok(Read::End) | Err(_) => return Ok(None),
            };
            let end = seen.iter().position(|byte| *byte == b'\n');
            let mut taken = vec![0; end.map_or(seen.len(), |end| end + 1)];
            let Ok(Read::Bytes(count)) = stream.read(&mut taken) else {
                return Ok(None);
            };
            line.extend_from_slice(&taken[..count]);
            if line.last() == Some(&b'\n') {
                let reply = serde_json::from_slice(&line);
                return reply.map(Some).map_err(|error| {
                    self.no_courier(format!(
                        "its courier answers in words this program does not know ({error}); are both of one version?"
                    ))
                });
            }
            if line.len() > MAX_REPLY {
                return Err(self.no_courier("its courier gave an answer that is too long"));
            }
        }
    }

    /// A connection to the courier.
    fn courier(&self) -> Result<Stream, Error> {
        for _ in 0..MAX_STARTS {
            if let Some(stream) = self.running()? {
                return Ok(stream);
            }
            // If it has ended again, the one after it is asked.
            self.begin_courier()?;
        }
        let running = self.running()?;
        running.ok_or_else(|| self.no_courier("each courier that was started ended at once"))
    }

    fn running(&self) -> Result<Option<Stream>, Error> {
        let directory = records::directory(self.outlive, self.place);
        match Stream::connect(&directory, SOCKET, self.patience) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(self.no_courier("its courier takes no connections; it may be suspended"))
            }
            other => other.map_err(Error::io("cannot connect to the courier in", directory)),
        }
    }

    /// Starts a courier, and waits until it or another one listens.
    fn begin_courier(&self) -> Result<(), Error> {
        let directory = records::make_directory(self.outlive, self.place)?;
        let program = own_program(self.outlive)?;
        let (mut ready, mut command) = self
            .command(&program, &directory)
            .map_err(Error::io("cannot prepare the courier in", &directory))?;
        let mut child = spawn::start(&mut command).map_err(Error::io("cannot start", &program))?;
        // It would keep the pipe open.
        drop(command);
        let said = read_all(&mut ready, clock::boot() + self.patience);
        if said.is_none() {
            let _ = child.kill();
        }
        // It has forked the courier and ends now. A process that could not fork is the courier itself.
        if let Ok(Some(process)) = PidFd::open(child.id().cast_signed()) {
            let _ = process.wait_for_end(Some(Duration::from_millis(100)));
        }
        remember(child);
        match said.as_deref() {
            // It was killed before it could say anything.
            Some([LISTENS, ..] | []) => Ok(()),
            Some(reason) => Err(self.no_courier(String::from_utf8_lossy(reason))),
            None => Err(self.no_courier("its courier did not begin in time")),
        }
    }

    fn command(&self, program: &Path, directory: &Path) -> io::Result<(PipeReader, Command)> {
        let (ready, bell) = io::pipe()?;
        let mut command = Command::new(program);
        command
            .arg("--home")
            .arg(self.outlive.home().root())
            .args(["courier", "--", &self.place.name])
            .env(environment::HOME, self.outlive.home().root())
            // Keepers take it for another job's process, so it survives the stop of a job that starts it.
            .env(environment::JOB_DIR, directory)
            .env_remove(environment::JOB)
            .env_remove(environment::SESSION)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(OwnedFd::from(bell))
            .stderr(Stdio::null());
        Ok((ready, command))
    }

    fn no_courier(&self, why: impl Into<String>) -> Error {
        let place = self.place.name.clone();
        let why = Unreached::NoCourier(why.into());
        PlaceError::Unreached { place, why }.into()
    }
}

/// Tells a running courier that somebody wants its place now.
pub fn wake(outlive: &Outlive, place: &Place) {
    /// The attempt goes on after this.
    const WITHIN_MS: u64 = 100;
    const CONNECTING: Duration = Duration::from_secs(1);
    let directory = records::directory(outlive, place);
    if let Ok(Some(courier)) = Stream::connect(&directory, SOCKET, CONNECTING)
        && let Ok(mut line) = serde_json::to_vec(&Request::Greet {
            within_ms: WITHIN_MS,
        })
    {
        line.push(b'\n');
        let _ = courier.write(&line);
    }
}

/// What a pipe has until it ends or has said that a courier listens. `None` if that takes too long.
fn read_all(pipe: &mut PipeReader, until: BootTime) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut said = Vec::new();
    loop {
        if !is_ready(&*pipe, until) {
            return None;
        }
        let mut buffer = [0; 512];
        match pipe.read(&mut buffer) {
            Ok(0) | Err(_) => return Some(said),
            Ok(count) => said.extend_from_slice(&buffer[..count]),
        }
        if said.first() == Some(&LISTENS) {
            return Some(said);
        }
    }
}

/// Whether there is something to read before this moment.
fn is_ready(from: impl AsFd, until: BootTime) -> bool {
    loop {
        let left = until.since(clock::boot());
        let on: [(BorrowedFd<'_>, Interest); 1] = [(from.as_fd(), Interest::Readable)];
        match poll::wait(&on, Some(left)) {
            Ok(ready) if ready == [true] => return true,
            Err(_) => return false,
            // It was suspended and resumed, or the time is over.
            Ok(_) if clock::boot() >= until => return false,
            Ok(_) => {}
        }
    }
}
