//! Programs that reach other places from here: their input and output are a stream, and they end with it.

use super::stream::Stream;
use super::{Far, failed};
use crate::places::Unreached;
use crate::places::transport::line::Line;
use crate::places::transport::{Base, Begun};
use outlive_core::BootTime;
use outlive_core::far::{Answer, FarEnded, FarFailure, FarProgram};
use outlive_sys::capture;
use outlive_sys::poll::{self, Interest};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The bytes of one read.
const PIECE: usize = 64 * 1024;

/// How long a question about an end waits for it.
const ENDING: Duration = Duration::from_secs(3);

/// More ends than anybody leaves unasked.
const MAX_ENDS: usize = 10_000;

/// How programs ended that nobody has asked about.
#[derive(Debug, Default)]
pub struct Ends {
    ends: Mutex<HashMap<String, FarEnded>>,
    changed: Condvar,
}

impl Ends {
    fn put(&self, ticket: String, ended: FarEnded) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if ends.len() < MAX_ENDS {
            ends.insert(ticket, ended);
        }
        self.changed.notify_all();
    }

    /// How a program ended, which it may be about to do.
    pub fn take(&self, ticket: &str) -> Option<FarEnded> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unknown = |ends: &mut HashMap<String, FarEnded>| !ends.contains_key(ticket);
        let waited = self.changed.wait_timeout_while(ends, ENDING, is_unknown);
        let (mut ends, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ends.remove(ticket)
    }
}

/// Runs a program to its end.
pub fn ask(program: FarProgram, by: BootTime) -> Result<Answer, FarFailure> {
    let asked = Base::Here.ask(&Line::from_far(program), None, by);
    let asked = asked.map_err(|why| not_started(&why))?;
    Ok(Answer::Asked {
        output: asked.output,
        ended: asked.ended.into(),
    })
}

fn not_started(why: &Unreached) -> FarFailure {
    FarFailure {
        code: "unreachable".to_owned(),
        message: why.to_string(),
    }
}

/// Serves the stream until the program or the stream ends.
pub fn serve(far: &Far, stream: &Arc<Stream>, program: FarProgram, ticket: String) {
    let begun = match Base::Here.start(&Line::from_far(program), BootTime::default()) {
        Ok(begun) => begun,
        Err(why) => {
            let words = why.to_string();
            let ended = FarEnded {
                words,
                ..FarEnded::default()
            };
            far.ends.put(ticket, ended);
            return stream.end(Some(not_started(&why)));
        }
    };
    let Begun {
        input,
        output,
        running,
    } = begun;
    let passed = pass_on(stream, input, &output);
    drop(output);
    let ended = match stream.is_over() {
        true => {
            running.end();
            FarEnded::default()
        }
        false => running.ended().into(),
    };
    far.ends.put(ticket, ended);
    stream.end(passed.err().map(|error| failed(&error)));
}

/// Copies in both directions until the program has nothing more to say, or the stream is over.
fn pass_on(stream: &Arc<Stream>, input: File, output: &File) -> io::Result<()> {
    let (woken, bell) = capture::new_pipe()?;
    stream.at_end(move || drop((&bell).write(&[0])));
    let from = Arc::clone(stream);
    thread::Builder::new()
        .name("to-program".to_owned())
        .stack_size(super::relay::STACK)
        .spawn(move || write(&from, input))?;
    let mut buffer = vec![0; PIECE];
    loop {
        let on = [
            (output.as_fd(), Interest::Readable),
            (woken.as_fd(), Interest::Readable),
        ];
        let ready = poll::wait(&on, None)?;
        if ready[1] {
            return Ok(());
        }
        let count = match (&mut &*output).read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if stream.send(&buffer[..count]).is_err() {
            return Ok(());
        }
    }
}

/// Passes on what comes. Its end is that of the program's input.
fn write(stream: &Stream, mut input: File) {
    while let Some(data) = stream.take() {
        // If the program has ended, its output shows that.
        if input.write_all(&data).is_err() || stream.used(data.len()).is_err() {
            return;
        }
    }
}
