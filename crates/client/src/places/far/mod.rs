//! The far end: serves calls and streams at a place, for one courier, over its standard input and output.
//!
//! ```text
//!  courier ─frames─► reader ─► a thread for each call and stream ─┐
//!                      │      journals: one thread for all jobs ──┼─► outbox ─► writer ─frames─► courier
//!                      └─ pong, room ────────────────────────────┘
//! ```
//! It keeps nothing: the job directories are the truth, and whatever is asked may be asked again on another wire. So
//! it may be killed at any time. The reader never waits for anything but its input.

mod outbox;
mod stream;

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::far::FarFailure;
use outlive_core::wire::{Decoder, Frame, Kind, parse_room};
use outlive_sys::poll::{self, Interest};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use stream::Wire;

/// A courier sends something every 15 s, so one that is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// Serves one courier. Returns when the wire is over.
pub fn serve(outlive: Outlive, input: File, output: File) -> Result<(), Error> {
    let failed = || Error::io("cannot serve on", "standard output");
    let wire = Arc::new(Wire::default());
    let writing = (Arc::clone(&wire), output.try_clone().map_err(failed())?);
    thread::Builder::new()
        .name("writer".to_owned())
        .spawn(move || writing.0.outbox.write_to(&writing.1))
        .map_err(failed())?;
    let far = Far { outlive, wire };
    let read = far.read(input, &output);
    far.wire.close();
    read.map_err(Error::io("cannot understand", "the courier"))
}

/// A far end.
struct Far {
    #[expect(dead_code, reason = "used by the calls that follow")]
    outlive: Outlive,
    wire: Arc<Wire>,
}

impl Far {
    /// Reads frames until there are no more.
    fn read(&self, mut input: File, output: &File) -> io::Result<()> {
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; 64 * 1024];
        let mut heard = clock::boot();
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
                self.take(frame)?;
            }
        }
    }

    fn take(&self, frame: Frame) -> io::Result<()> {
        let stream = self.wire.find(frame.stream);
        match (frame.kind, stream) {
            (Kind::Ping, _) => drop(self.wire.outbox.put(&Frame::new(0, Kind::Pong, []))),
            (Kind::Open, _) => {
                let failure = FarFailure {
                    code: "bad_input".to_owned(),
                    message: "not yet".to_owned(),
                };
                self.wire.open(frame.stream).end(Some(failure));
            }
            (Kind::Room, Some(stream)) => stream
                .give(parse_room(&frame.payload).ok_or_else(|| wrong("room without a number"))?),
            (Kind::Data, Some(stream)) => {
                let brought = stream.bring(frame.payload);
                brought.map_err(|_| wrong("more data than there was room for"))?;
            }
            (Kind::Shut, Some(stream)) => stream.shut(),
            (Kind::End, Some(stream)) => stream.ended(),
            // Of a stream that is over, which the courier did not know when it sent this.
            (Kind::Pong | Kind::Room | Kind::Data | Kind::Shut | Kind::End, _) => {}
        }
        Ok(())
    }
}

fn wrong(what: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}

fn is_passing(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
    kinds.contains(&error.kind())
}
