//! The control socket of a job, passed on byte for byte.
//!
//! The job is met first, so that it has a keeper. Before anything that the keeper says, the records are sent that the
//! journal has by then. When the keeper goes, the stream ends; the courier's side asks again, as every client does.

use super::Far;
use super::failure;
use super::journals::Journals;
use super::stream::Stream;
use crate::jobs::presence;
use crate::launch::keeper_process;
use outlive_core::JobId;
use outlive_sys::control::{self, Read};
use std::io;
use std::sync::Arc;
use std::thread;

/// The bytes of one read. Replies of keepers are short.
const PIECE: usize = 16 * 1024;

/// What a thread of a stream needs: it only copies.
pub const STACK: usize = 128 * 1024;

/// Serves the stream until one side ends it.
pub fn serve(far: &Far, stream: &Arc<Stream>, job: &JobId) {
    let reached = far
        .own(job)
        .and_then(|()| presence::reach(&far.outlive, job));
    keeper_process::reap();
    let keeper = match reached {
        Ok(Some(connection)) => Arc::new(connection.into_stream()),
        Ok(None) => return finish(far, stream, job),
        Err(error) => return stream.end(Some(failure(&error))),
    };
    let ending = Arc::clone(&keeper);
    stream.at_end(move || ending.shut());
    let (from, to) = (Arc::clone(stream), Arc::clone(&keeper));
    let writer = thread::Builder::new()
        .name("to-keeper".to_owned())
        .stack_size(STACK)
        .spawn(move || write(&from, &to));
    if let Err(error) = writer {
        return stream.end(Some(super::failed(&error)));
    }
    read(&keeper, stream, far.journals(), job);
    finish(far, stream, job);
}

/// The keeper is gone or the job is over.
fn finish(far: &Far, stream: &Stream, job: &JobId) {
    if let Some(journals) = far.journals() {
        let _ = journals.catch_up(job);
    }
    stream.end(None);
}

/// Passes on what the courier sends.
fn write(stream: &Stream, keeper: &control::Stream) {
    while let Some(data) = stream.take() {
        // If the keeper is gone, reading from it shows that.
        if write_all(keeper, &data).is_err() || stream.used(data.len()).is_err() {
            return;
        }
    }
    keeper.shut_writing();
}

fn write_all(keeper: &control::Stream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[keeper.write(bytes)?..];
    }
    Ok(())
}

/// Passes on what the keeper says.
fn read(keeper: &control::Stream, stream: &Stream, journals: Option<&Journals>, job: &JobId) {
    let mut buffer = vec![0; PIECE];
    loop {
        let count = match keeper.read(&mut buffer) {
            Ok(Read::Bytes(count)) => count,
            Ok(Read::Empty) => continue,
            Ok(Read::End) | Err(_) => return,
        };
        let caught_up = journals.map_or(Ok(()), |journals| journals.catch_up(job));
        if caught_up
            .and_then(|()| stream.send(&buffer[..count]))
            .is_err()
        {
            return;
        }
    }
}
