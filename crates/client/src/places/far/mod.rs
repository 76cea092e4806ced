//! The far end: serves calls and streams at a place, for one courier, over its standard input and output.
//!
//! ```text
//!  courier ─frames─► reader ─► a thread for each call and stream ─┐
//!                      │      journals: one thread for all jobs ──┼─► outbox ─► writer ─frames─► courier
//!                      └─ pong, room ────────────────────────────┘
//! ```
//! It keeps nothing: the job directories are the truth, and whatever is asked may be asked again on another wire. So
//! it may be killed at any time. The reader never waits for anything but its input.
//!
//! | module | owns |
//! |---|---|
//! | `outbox`, `stream` | frames out, in order; the flow of each stream |
//! | `calls` | what each stream carries, and the answer of each call |
//! | `greeting`, `epoch` | the hello, and that no earlier wire starts a job after it |
//! | `home` | the home there, if nobody names one |
//! | `standing` | whether a job is there |
//! | `launching`, `login` | starting a job at most once; the environment of a login shell |
//! | `journals`, `followed`, `watching` | the records of all jobs, as they come |
//! | `acks` | what the courier has safely |
//! | `relay`, `bytes` | a job's control socket; the bytes of its files |
//! | `exec` | programs that reach other places from here |
//! | `programs` | removing programs of other versions |

mod acks;
mod bytes;
mod calls;
mod epoch;
mod exec;
mod followed;
mod greeting;
mod home;
mod journals;
mod launching;
mod login;
mod outbox;
mod programs;
mod relay;
mod standing;
mod stream;
mod watching;

use crate::clock;
use crate::error::Error;
use crate::home::outlive::{Caller, Outlive};
use acks::Acks;
use exec::Ends;
use greeting::Greeted;
pub use home::open_home;
use journals::Journals;
use outlive_core::JobId;
use outlive_core::far::FarFailure;
use outlive_core::wire::{Decoder, Frame, Kind, parse_room};
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::own;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use stream::Wire;

/// A courier sends something every 15 s, so one that is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// How long the end of the wire waits for launches that were read. As a rule, one takes milliseconds.
const FINISHING: Duration = Duration::from_secs(10);

/// How long it waits for what was acked to be recorded. What is not can be acked again.
const RECORDING: Duration = Duration::from_secs(5);

/// Serves one courier. Returns when the wire is over.
pub fn serve(outlive: Outlive, input: File, output: File) -> Result<(), Error> {
    let failed = || Error::io("cannot serve on", "standard output");
    // The transport's terminal or session may end at any moment; the end of the input tells.
    own::block_signals(&[HANG_UP]).map_err(failed())?;
    let wire = Arc::new(Wire::default());
    let (writing, to) = (Arc::clone(&wire), output.try_clone().map_err(failed())?);
    outlive_sys::process::limits::fail_at_file_size();
    thread::Builder::new()
        .name("writer".to_owned())
        .spawn(move || writing.outbox.write_to(&to))
        .map_err(failed())?;
    let far = Arc::new(Far {
        outlive: outlive.showing_secrets(),
        wire,
        hello_came: AtomicBool::new(false),
        greeted: OnceLock::new(),
        journals: OnceLock::new(),
        acks: Arc::default(),
        login: Mutex::default(),
        busy: Busy::default(),
        ends: Ends::default(),
    });
    let read = far.read(input, &output);
    far.wire.close();
    far.busy.wait(FINISHING);
    far.acks.close(RECORDING);
    read.map_err(Error::io("cannot understand", "the courier"))
}

/// SIGHUP, whose number is the same everywhere.
const HANG_UP: i32 = 1;

/// A far end.
struct Far {
    outlive: Outlive,
    wire: Arc<Wire>,
    hello_came: AtomicBool,
    greeted: OnceLock<Greeted>,
    journals: OnceLock<Arc<Journals>>,
    acks: Arc<Acks>,
    /// The variables of a login shell, once they were asked for.
    login: Mutex<Option<Vec<(OsString, OsString)>>>,
    /// Launches that are carried out.
    busy: Busy,
    /// How programs ended that reached other places.
    ends: Ends,
}

impl Far {
    /// Reads frames until there are no more.
    fn read(self: &Arc<Self>, mut input: File, output: &File) -> io::Result<()> {
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; 64 * 1024];
        let mut heard = clock::boot();
        let mut opened = 0;
        loop {
            let on = [
                (input.as_fd(), Interest::Readable),
                (output.as_fd(), Interest::HangUp),
            ];
            let limit = (heard + SILENCE).since(clock::boot());
            let ready = poll::wait(&on, Some(limit))?;
            if ready[1] || self.wire.outbox.is_closed() {
                return Ok(());
            }
            if !ready[0] {
                match clock::boot() >= heard + SILENCE {
                    true => return Ok(()),
                    false => continue,
                }
            }
            match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => decoder.push(&buffer[..count]),
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error),
            }
            while let Some(frame) = decoder.next_frame().map_err(wrong)? {
                heard = clock::boot();
                self.take(frame, &mut opened)?;
            }
        }
    }

    /// Acts on a frame. An error ends the wire. `opened` is the last stream that was opened.
    fn take(self: &Arc<Self>, frame: Frame, opened: &mut u64) -> io::Result<()> {
        let number = frame.stream;
        if frame.kind == Kind::Open {
            if number <= *opened {
                return Err(wrong("a stream with the number of an earlier one"));
            }
            *opened = number;
            let stream = self.wire.open(number);
            self.open(&stream, &frame.payload);
            return Ok(());
        }
        if number > *opened {
            return Err(wrong("a frame of a stream that was not opened"));
        }
        let stream = self.wire.find(number);
        match (frame.kind, stream) {
            (Kind::Ping, _) => drop(self.wire.outbox.put(&Frame::new(0, Kind::Pong, []))),
            (Kind::Room, Some(stream)) => {
                let bytes = parse_room(&frame.payload);
                stream.give(bytes.ok_or_else(|| wrong("room without a number"))?);
            }
            (Kind::Data, Some(stream)) => match self.journals() {
                Some(journals) if journals.is_of(&stream) => {
                    let heard = journals.hear(&frame.payload);
                    heard
                        .map_err(|bad| wrong(format!("a wrong request for journals: {}", bad.0)))?;
                    let _ = stream.used(frame.payload.len());
                }
                _ => {
                    let brought = stream.bring(frame.payload);
                    brought.map_err(|_| wrong("more data than there was room for"))?;
                }
            },
            (Kind::Shut, Some(stream)) => stream.shut(),
            (Kind::End, Some(stream)) => stream.ended(),
            // Of a stream that is over, which the courier did not know when it sent this.
            (Kind::Open | Kind::Pong | Kind::Room | Kind::Data | Kind::Shut | Kind::End, _) => {}
        }
        Ok(())
    }

    fn greeted(&self) -> Result<&Greeted, FarFailure> {
        let none = || bad_input("the first call of a wire is the hello");
        self.greeted.get().ok_or_else(none)
    }

    fn journals(&self) -> Option<&Journals> {
        self.journals.get().map(Arc::as_ref)
    }

    /// A handle that speaks for the session of the courier's home.
    fn near(&self) -> Result<Outlive, FarFailure> {
        let session = self.greeted()?.session.clone();
        Ok(self.outlive.clone().called_by(Caller::Session(session)))
    }

    /// Fails unless this is a job of the courier's home.
    fn own(&self, job: &JobId) -> Result<(), Error> {
        match self.greeted.get() {
            Some(greeted) => standing::require(&self.outlive, greeted, job),
            None => Err(Error::NoSuchJob(job.to_string())),
        }
    }

    /// The variables of a login shell, which is asked once.
    fn login_variables(&self) -> Result<Vec<(OsString, OsString)>, Error> {
        let mut login = self.login.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*login {
            return Ok(known.clone());
        }
        let read = login::variables()?;
        Ok(login.insert(read).clone())
    }
}

/// Counts what must not be broken off.
#[derive(Debug, Default)]
struct Busy(Arc<(Mutex<usize>, Condvar)>);

/// Something that must not be broken off.
#[derive(Debug)]
struct BusyWith(Arc<(Mutex<usize>, Condvar)>);

impl Busy {
    fn begin(&self) -> BusyWith {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        BusyWith(Arc::clone(&self.0))
    }

    fn wait(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let (count, changed) = &*self.0;
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count > 0 && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            let waited = changed.wait_timeout(count, left);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for BusyWith {
    fn drop(&mut self) {
        let (count, changed) = &*self.0;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_all();
    }
}

/// An error as it is told to the courier.
fn failure(error: &Error) -> FarFailure {
    FarFailure {
        code: error.code().as_str().to_owned(),
        message: error.to_string(),
    }
}

fn failed(error: &io::Error) -> FarFailure {
    FarFailure {
        code: "io".to_owned(),
        message: error.to_string(),
    }
}

fn bad_input(message: &str) -> FarFailure {
    FarFailure {
        code: "bad_input".to_owned(),
        message: message.to_owned(),
    }
}

fn wrong(what: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}

fn is_passing(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
    kinds.contains(&error.kind())
}
