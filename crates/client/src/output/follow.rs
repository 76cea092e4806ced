//! Follows an output while the job writes it.

use super::{Chunk, Following, Seen};
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::{Answer, Connection};
use crate::jobs::presence::{self, Presence};
use crate::places::Place;
use crate::places::ear::{Ears, Heard};
use crate::verbs::wait::LOOK_ELSEWHERE;
use outlive_core::control::Reply;
use outlive_core::{BootTime, JobId, State};
use outlive_sys::poll::{self, Interest};
use std::os::fd::AsFd;
use std::time::Duration;

/// Follows an output while the job writes it. It ends with the job, even if the keeper is replaced.
#[derive(Debug)]
pub struct Follow<'a> {
    outlive: &'a Outlive,
    following: Following,
    deadline: Option<BootTime>,
}

/// The pause after a place was not reached.
const LOST_AGAIN: Duration = Duration::from_millis(200);

/// What a look at the output came to.
enum Looked {
    Found(Chunk),
    /// There may be more now.
    News,
    /// The time is up.
    NoNews,
}

/// Whether there is more output, for a caller that does not show it.
#[derive(Debug)]
pub struct Growth<'a>(Follow<'a>);

/// What became of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// There is more.
    More,
    /// The job has ended, and there is no more.
    Ended,
    /// Neither, within the time given.
    NotYet,
}

impl<'a> Growth<'a> {
    /// Looks at what comes after this offset.
    pub fn after(outlive: &'a Outlive, id: &JobId, from: u64) -> Result<Growth<'a>, Error> {
        Follow::exactly(outlive, id, from).map(Growth)
    }

    /// Waits for more, at most this long.
    pub fn next_within(&mut self, limit: Duration) -> Result<Grown, Error> {
        Ok(match self.0.next_within(Some(limit))? {
            Some(Chunk::Bytes { .. } | Chunk::Missing(_)) => Grown::More,
            Some(Chunk::Ended) => Grown::Ended,
            Some(Chunk::OutOfTime) | None => Grown::NotYet,
        })
    }
}

impl<'a> Follow<'a> {
    /// The exact bytes from this offset on. They may contain secrets, so this is refused unless
    /// [`Outlive::showing_secrets`] was called.
    pub fn new(outlive: &'a Outlive, id: &JobId, from: u64) -> Result<Follow<'a>, Error> {
        match outlive.shows_secrets() {
            true => Follow::exactly(outlive, id, from),
            false => Err(Error::SecretsHidden),
        }
    }

    pub(crate) fn exactly(
        outlive: &'a Outlive,
        id: &JobId,
        from: u64,
    ) -> Result<Follow<'a>, Error> {
        Ok(Follow {
            outlive,
            following: Following::exactly(outlive, id, from)?.holding(outlive),
            deadline: None,
        })
    }

    /// Stops following after this time.
    pub fn at_most(mut self, limit: Duration) -> Follow<'a> {
        self.deadline = Some(after(limit));
        self
    }

    /// Says the stream of each chunk, if the job tells its streams apart.
    #[must_use]
    pub fn telling_streams(self) -> Follow<'a> {
        self.seeing(Seen::Apart)
    }

    pub(crate) fn seeing(mut self, seen: Seen) -> Follow<'a> {
        self.following = self.following.seeing(seen);
        self
    }

    /// Waits for more output.
    pub fn next_chunk(&mut self) -> Result<Chunk, Error> {
        loop {
            if let Some(chunk) = self.next_within(None)? {
                return Ok(chunk);
            }
        }
    }

    /// Waits at most this long for more output. `None` waits without a timer. While the place of the job is not reached,
    /// this waits too.
    pub fn next_within(&mut self, patience: Option<Duration>) -> Result<Option<Chunk>, Error> {
        let still_at = patience.map(after);
        let until = self.deadline.into_iter().chain(still_at).min();
        loop {
            let has_news = match self.look(until) {
                Ok(Looked::Found(chunk)) => return Ok(Some(chunk)),
                Ok(Looked::News) => true,
                Ok(Looked::NoNews) => false,
                Err(error) if error.is_unreached() => self.listen_until(until)?,
                Err(error) => return Err(error),
            };
            if !has_news {
                let is_over = self.deadline.is_some_and(|at| at <= clock::boot());
                return Ok(is_over.then_some(Chunk::OutOfTime));
            }
        }
    }

    /// Reads once, and waits for news if there is nothing to read.
    fn look(&mut self, until: Option<BootTime>) -> Result<Looked, Error> {
        // Read the state before the output: once the state shows the end, all output is in the file.
        let (presence, state) = presence::meet(self.outlive, self.following.id())?;
        if let Some(chunk) = self.read(&state)? {
            return Ok(Looked::Found(chunk));
        }
        // The other stream may bring news all the time.
        let is_late = until.is_some_and(|until| until <= clock::boot());
        if is_late && self.following.sees_one() {
            return Ok(Looked::NoNews);
        }
        let has_news = match presence {
            // A keeper on another host cannot notify us, so check again after a while.
            Presence::Elsewhere(_) => {
                let look = after(LOOK_ELSEWHERE);
                sleep_until(until.map_or(look, |until| until.min(look)))?;
                until.is_none_or(|until| clock::boot() < until)
            }
            Presence::Kept | Presence::Over | Presence::Away(_) => match self.arm(&state)? {
                Some(mut connection) => {
                    let has_news = wait_until(&connection, until)?;
                    if has_news {
                        // Apart from the size, the files tell what is new.
                        let answer = connection.receive(self.following.id())?;
                        self.following.grown_to(told_size(&answer));
                    }
                    has_news
                }
                None => true,
            },
        };
        Ok(match has_news {
            true => Looked::News,
            false => Looked::NoNews,
        })
    }

    /// Waits until the place of the job is reached again. Returns whether to look again before the time is up.
    fn listen_until(&mut self, until: Option<BootTime>) -> Result<bool, Error> {
        let Some(place) = Place::resolve(self.outlive, self.following.place())? else {
            return Ok(true);
        };
        let name = place.name.clone();
        // A place that is reached and lost again and again is not asked without a pause.
        sleep_until(
            until
                .into_iter()
                .chain([after(LOST_AGAIN)])
                .min()
                .unwrap_or_default(),
        )?;
        let mut ears = Ears::default();
        ears.listen(self.outlive, place);
        while until.is_none_or(|until| clock::boot() < until) {
            let by = until.into_iter().chain(ears.wake_at()).min();
            let limit = by.map(|at| at.since(clock::boot()));
            let couriers = ears.descriptors();
            let on: Vec<_> = couriers.map(|(_, fd)| (fd, Interest::Readable)).collect();
            let ready = poll::wait(&on, limit).map_err(Error::io("cannot wait for", "a place"))?;
            drop(on);
            // The courier begins with what is so now.
            if ready.contains(&true)
                && ears.hear(self.outlive, &name) == Heard::Anything
                && ears.is_reached(&name)
            {
                return Ok(true);
            }
            ears.wake(self.outlive);
        }
        Ok(false)
    }

    /// Returns what there is now, without waiting.
    pub(crate) fn read(&mut self, state: &State) -> Result<Option<Chunk>, Error> {
        self.following.read(self.outlive, state)
    }

    /// A connection on which a reply arrives when there is more output; `None` once the job is over.
    pub(crate) fn arm(&self, state: &State) -> Result<Option<Connection>, Error> {
        let connection = presence::reach(self.outlive, self.following.id())?;
        if let Some(connection) = &connection {
            connection.send(&self.following.wanted(state).news())?;
        }
        Ok(connection)
    }
}

fn told_size(answer: &Answer) -> Option<u64> {
    match answer {
        Answer::Reply(Reply::News { output, .. }) => Some(*output),
        _ => None,
    }
}

/// The time this long from now.
fn after(limit: Duration) -> BootTime {
    clock::boot() + limit
}

fn sleep_until(at: BootTime) -> Result<(), Error> {
    let limit = at.since(clock::boot());
    let slept = poll::wait(&[], Some(limit)).map(drop);
    slept.map_err(Error::io("cannot wait for", "more output"))
}

/// Whether an answer arrived before the deadline.
fn wait_until(connection: &Connection, deadline: Option<BootTime>) -> Result<bool, Error> {
    loop {
        let limit = deadline.map(|at| at.since(clock::boot()));
        let ready = poll::wait(&[(connection.as_fd(), Interest::Readable)], limit)
            .map_err(Error::io("cannot wait for", "a keeper"))?;
        if ready == [true] {
            return Ok(true);
        }
        // Otherwise this process was suspended and resumed.
        if deadline.is_some_and(|at| at <= clock::boot()) {
            return Ok(false);
        }
    }
}
