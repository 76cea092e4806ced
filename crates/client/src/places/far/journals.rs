//! The stream of journals: the records of all jobs that the courier follows, as they come.
//!
//! One thread serves all of them. It meets each job, sends what the journal has, and asks the keeper for news. A keeper
//! that dies closes its connection; then the job is met again, which adopts it if both of its keepers are gone. So
//! nothing is polled, except a job that another host keeps.
//!
//! Other threads send records, too: before a frame that speaks of a job, everything that its journal has by then
//! ([`Journals::catch_up`]).

use super::acks::Acks;
use super::followed::{Followed, NotSent};
use super::greeting::Greeted;
use super::outbox::Over;
use super::stream::Stream;
use super::watching;
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::JobId;
use outlive_core::far::{FromJournals, MAX_LINE, ToJournals};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More jobs of one place than anybody has.
const MAX_FOLLOWED: usize = 1_000_000;

/// The stream of journals of one wire.
#[derive(Debug)]
pub struct Journals {
    pub outlive: Outlive,
    pub greeted: Greeted,
    stream: Arc<Stream>,
    /// Held while a message is sent, so that messages do not mix.
    sending: Mutex<()>,
    acks: Arc<Acks>,
    followed: Mutex<Table>,
    /// Wakes the thread.
    bell: File,
    /// The beginning of a line that has not come whole.
    partial: Mutex<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Table {
    jobs: HashMap<JobId, Arc<Followed>>,
    /// Those that the thread has not met.
    fresh: Vec<Arc<Followed>>,
}

impl Journals {
    /// Also returns what becomes readable when the thread has something to do.
    pub fn new(
        outlive: &Outlive,
        greeted: &Greeted,
        stream: &Arc<Stream>,
        acks: Arc<Acks>,
    ) -> io::Result<(Arc<Journals>, File)> {
        let (waker, bell) = outlive_sys::capture::new_pipe()?;
        let journals = Arc::new(Journals {
            outlive: outlive.clone(),
            greeted: greeted.clone(),
            stream: Arc::clone(stream),
            sending: Mutex::default(),
            acks,
            followed: Mutex::default(),
            bell,
            partial: Mutex::default(),
        });
        let thread = Arc::clone(&journals);
        stream.at_end(move || thread.wake());
        Ok((journals, waker))
    }

    /// Takes what the courier sent. The reader of the wire calls this, so what is followed is known before any later
    /// frame of the courier is read.
    pub fn hear(&self, data: &[u8]) -> Result<(), BadRequest> {
        let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = data;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            partial.extend_from_slice(&rest[..end]);
            self.take(&std::mem::take(&mut *partial))?;
            rest = &rest[end + 1..];
        }
        partial.extend_from_slice(rest);
        match partial.len() > MAX_LINE {
            true => Err(BadRequest("a line that is too long".to_owned())),
            false => Ok(()),
        }
    }

    fn take(&self, line: &[u8]) -> Result<(), BadRequest> {
        let asked = serde_json::from_slice(line).map_err(|error| BadRequest(error.to_string()))?;
        match asked {
            // Not an ack: what the courier has may not be on its disk.
            ToJournals::Follow {
                job,
                after,
                stopped,
            } => self.follow(&job, after, stopped),
            ToJournals::Leave { job } => {
                if let Some(left) = self.table().jobs.remove(&job) {
                    left.leave();
                }
                Ok(())
            }
            ToJournals::Ack { job, seq } => {
                self.acks.put(&job, seq);
                Ok(())
            }
            ToJournals::Finish { job, seq } => {
                if let Some(left) = self.table().jobs.remove(&job) {
                    left.leave();
                }
                self.acks.put_last(&job, seq);
                Ok(())
            }
        }
    }

    /// Sends the records after this one from now on, whatever was sent before.
    fn follow(&self, job: &JobId, after: u64, stopped: bool) -> Result<(), BadRequest> {
        let mut table = self.table();
        if table.jobs.len() >= MAX_FOLLOWED {
            return Err(BadRequest("too many jobs are followed".to_owned()));
        }
        let new = Arc::new(Followed::new(job.clone(), after, stopped));
        if let Some(left) = table.jobs.insert(job.clone(), Arc::clone(&new)) {
            left.leave();
        }
        table.fresh.push(new);
        drop(table);
        self.wake();
        Ok(())
    }

    /// Follows a job that was just started, unless the courier does.
    pub fn begin(&self, job: &JobId) {
        let is_known = self.table().jobs.contains_key(job);
        if !is_known {
            let _ = self.follow(job, 0, false);
        }
    }

    /// Sends everything that the journal of this job has now, if it is followed. A job that cannot be read has
    /// nothing to send; its thread reports that.
    pub fn catch_up(&self, job: &JobId) -> Result<(), Over> {
        loop {
            let Some(followed) = self.table().jobs.get(job).cloned() else {
                return Ok(());
            };
            match followed.send_news(self) {
                Err(NotSent::Over) => return Err(Over),
                // The courier has asked for it again, or left it, before everything was sent.
                _ if followed.is_left() => {}
                _ => return Ok(()),
            }
        }
    }

    /// Sends messages, each of which is a line.
    pub fn send(&self, lines: &[u8]) -> Result<(), Over> {
        let _alone = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        self.stream.send(lines)
    }

    /// Says that a job is not there, and follows it no more, unless the courier has asked for it again meanwhile.
    pub fn give_up(&self, followed: &Arc<Followed>) -> Result<(), Over> {
        let mut table = self.table();
        let is_current = |now: &Arc<Followed>| Arc::ptr_eq(now, followed);
        if !table.jobs.get(&followed.job).is_some_and(is_current) {
            return Ok(());
        }
        table.jobs.remove(&followed.job);
        drop(table);
        let job = followed.job.clone();
        self.send(&line(&FromJournals::Gone { job }))
    }

    /// Says why a job cannot be followed now. It still is.
    pub fn tell_failure(&self, followed: &Followed, why: &Error) -> Result<(), Over> {
        let (job, reason) = (followed.job.clone(), why.to_string());
        self.send(&line(&FromJournals::Failed { job, reason }))
    }

    /// Ends the stream, and with it the wire, for this reason.
    pub fn break_off(&self, why: &Error) {
        self.stream.end(Some(super::failure(why)));
    }

    /// The jobs that are new to the thread.
    pub fn take_fresh(&self) -> Vec<Arc<Followed>> {
        std::mem::take(&mut self.table().fresh)
    }

    /// Whether this is the stream of journals.
    pub fn is_of(&self, stream: &Arc<Stream>) -> bool {
        Arc::ptr_eq(stream, &self.stream)
    }

    pub fn is_over(&self) -> bool {
        self.stream.is_over()
    }

    fn wake(&self) {
        // If it is full, the thread will be woken anyway.
        let _ = (&self.bell).write(&[0]);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the courier sent cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequest(pub String);

/// A message as it is sent.
pub fn line(message: &FromJournals) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Serves the stream until it is over.
pub fn run(journals: &Journals, waker: &File) {
    watching::run(journals, waker);
}
