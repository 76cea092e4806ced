//! What a transport writes on its standard error: the end of it is kept, to say why the place was not reached.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The end of what a transport wrote. A thread reads all of it, so that the transport never waits for a reader.
#[derive(Clone, Debug)]
pub struct LastWords(Arc<(Mutex<Words>, Condvar)>);

#[derive(Debug, Default)]
struct Words {
    bytes: Vec<u8>,
    has_ended: bool,
}

/// More than a transport needs to say why.
const KEPT: usize = 4096;

/// Processes that the transport started may keep its standard error open.
const PATIENCE: Duration = Duration::from_millis(300);

impl LastWords {
    /// Reads this pipe to its end.
    pub fn of(pipe: impl Into<OwnedFd>) -> io::Result<LastWords> {
        let mut pipe = std::fs::File::from(pipe.into());
        let words = LastWords(Arc::default());
        let mine = words.clone();
        // It needs the buffer and little else.
        let thread = thread::Builder::new().name("last-words".into());
        thread.stack_size(64 * 1024).spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                mine.add(&buffer[..count]);
            }
            mine.finish();
        })?;
        Ok(words)
    }

    fn add(&self, bytes: &[u8]) {
        let mut words = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.bytes.extend_from_slice(bytes);
        let surplus = words.bytes.len().saturating_sub(KEPT);
        words.bytes.drain(..surplus);
    }

    fn finish(&self) {
        let mut words = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.has_ended = true;
        self.0.1.notify_all();
    }

    /// All of it, for a transport that has ended.
    pub fn take(&self) -> String {
        let words = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |words: &mut Words| !words.has_ended;
        let waited = self.0.1.wait_timeout_while(words, PATIENCE, goes_on);
        let (words, _) = waited.unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words.bytes).into_owned()
    }
}
