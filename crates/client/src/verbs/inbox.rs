//! What a session has not been told yet: take it, wait for it, ack it.

use crate::connection::Connection;
use crate::error::Error;
use crate::hooks::{self, ConsumerHook};
use crate::inbox::{Bell, EventId, Inbox, Shown, Taken};
use crate::presence;
use outlive_core::JobId;
use outlive_core::control::Request;
use outlive_sys::clock;
use outlive_sys::poll::{self, Interest};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Whether what is taken is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Until the claim lapses nobody else is given it.
    Claim,
    /// It is only looked at.
    Peek,
}

/// How to look at an inbox.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub take: Take,
    pub shown: Shown,
    /// At most so many events at once.
    pub most: usize,
}

impl Default for How {
    fn default() -> How {
        How {
            take: Take::Claim,
            shown: Shown::Tell,
            most: usize::MAX,
        }
    }
}

/// What there is now.
pub fn take(inbox: &Inbox<'_>, how: How) -> Result<Taken, Error> {
    match how.take {
        Take::Claim => inbox.claim(how.shown, how.most),
        Take::Peek => inbox.peek(how.shown, how.most),
    }
}

/// Marks events as told, once they have been delivered.
pub fn ack(inbox: &Inbox<'_>, events: &[EventId]) -> Result<(), Error> {
    hooks::reach_consumer(ConsumerHook::Delivered);
    inbox.ack(events)?;
    hooks::reach_consumer(ConsumerHook::Acked);
    Ok(())
}

/// Somebody who waits for an inbox, without polling.
#[derive(Debug)]
pub struct Waiter<'a, 'b> {
    inbox: &'b Inbox<'a>,
    bell: Bell,
    /// To the keepers of the session's running jobs: each answers when there is news of its job, and
    /// closes when it dies.
    keepers: HashMap<JobId, Connection>,
}

impl<'a, 'b> Waiter<'a, 'b> {
    pub fn new(inbox: &'b Inbox<'a>) -> Result<Waiter<'a, 'b>, Error> {
        Ok(Waiter {
            inbox,
            bell: Bell::hang_up(inbox.outlive(), inbox.session())?,
            keepers: HashMap::new(),
        })
    }

    /// Waits until there is something, or this moment on the clock of `boot_ms` has come.
    pub fn next(&mut self, how: How, deadline: Option<u64>) -> Result<Taken, Error> {
        loop {
            self.bell.quiet();
            let taken = take(self.inbox, how)?;
            let out_of_time = deadline.is_some_and(|at| clock::boot_ms() >= at);
            if !taken.events.is_empty() || out_of_time {
                return Ok(taken);
            }
            // One that is over by now has told its end, which is there to be taken.
            if self.connect(&taken.running)? {
                let until = [deadline, taken.lapses_at].into_iter().flatten().min();
                self.sleep(until, None)?;
            }
        }
    }

    /// Waits until something may have changed since that look.
    pub fn sleep_until_news(&mut self, taken: &Taken) -> Result<(), Error> {
        if self.connect(&taken.running)? {
            self.sleep(taken.lapses_at, None)?;
        }
        self.bell.quiet();
        Ok(())
    }

    /// The same, as long as somebody reads what is written to `reader`; says whether somebody does.
    pub fn sleep_while_read(
        &mut self,
        taken: &Taken,
        reader: BorrowedFd<'_>,
    ) -> Result<bool, Error> {
        let is_read = match self.connect(&taken.running)? {
            true => self.sleep(taken.lapses_at, Some(reader))?,
            false => true,
        };
        self.bell.quiet();
        Ok(is_read)
    }

    /// Has every keeper tell when there is news after what was read; says whether all were reached.
    fn connect(&mut self, running: &[(JobId, u64)]) -> Result<bool, Error> {
        self.keepers
            .retain(|id, _| running.iter().any(|(running, _)| running == id));
        let mut all = true;
        for (id, seq) in running {
            if self.keepers.contains_key(id) {
                continue;
            }
            match presence::reach(self.inbox.outlive(), id) {
                Ok(Some(connection)) => {
                    let (seq, output) = (*seq, None);
                    connection.send(&Request::News { seq, output })?;
                    self.keepers.insert(id.clone(), connection);
                }
                Ok(None) | Err(Error::NoSuchJob(_)) => all = false,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Sleeps until the bell rings or a keeper says something, which needs to be asked again then.
    /// Says whether the reader, if there is one, is still there.
    fn sleep(&mut self, until: Option<u64>, reader: Option<BorrowedFd<'_>>) -> Result<bool, Error> {
        let limit = until.map(|at| Duration::from_millis(at.saturating_sub(clock::boot_ms())));
        let (ids, mut on): (Vec<JobId>, Vec<_>) = self
            .keepers
            .iter()
            .map(|(id, keeper)| (id.clone(), (keeper.as_fd(), Interest::Readable)))
            .unzip();
        on.push((self.bell.as_fd(), Interest::Readable));
        on.extend(reader.map(|reader| (reader, Interest::HangUp)));
        let ready = poll::wait(&on, limit).map_err(Error::io("cannot wait for", "the inbox"))?;
        drop(on);
        for (id, _) in ids.iter().zip(&ready).filter(|(_, ready)| **ready) {
            self.keepers.remove(id);
        }
        Ok(reader.is_none() || ready.last() != Some(&true))
    }
}
