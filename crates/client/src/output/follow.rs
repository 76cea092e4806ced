//! Follows an output while the job writes it.

use super::{Output, Piece, Seen};
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::{Answer, Connection};
use crate::jobs::hold::Hold;
use crate::jobs::presence::{self, Presence};
use crate::places::Place;
use crate::places::ear::{Ears, Heard};
use crate::verbs::wait::LOOK_ELSEWHERE;
use outlive_core::control::{Reply, Request};
use outlive_core::{BootTime, JobId, Spec, State, Stream};
use outlive_sys::poll::{self, Interest};
use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::Duration;

/// Follows an output while the job writes it. It ends with the job, even if the keeper is replaced.
#[derive(Debug)]
pub struct Follow<'a> {
    outlive: &'a Outlive,
    spec: Spec,
    position: u64,
    /// The size of the output, as a keeper told it last. It saves a place a question.
    size: Option<u64>,
    seen: Seen,
    /// What was read and not returned yet.
    ready: VecDeque<Chunk>,
    /// How often in a row there was news and nothing to read.
    in_vain: u32,
    deadline: Option<BootTime>,
    /// Prevents pruning of the output that is still to be read.
    _hold: Option<Hold>,
}

/// About so many bytes are read at once.
const AT_ONCE: u64 = 64 * 1024;

/// The pause after a place was not reached, or had news of nothing.
const LOST_AGAIN: Duration = Duration::from_millis(200);

/// News may be of something else than output. More often than this in a row, a place is not believed.
const MAX_IN_VAIN: u32 = 10;

/// One result of following.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    /// New output.
    Bytes {
        /// The offset of its first byte.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// Their stream, if the streams are told apart.
        stream: Option<Stream>,
    },
    /// This range was dropped before it was read, or could not be stored.
    Missing(Range<u64>),
    /// The job has ended, and this was all its output.
    Ended,
    /// The time is up, and the job goes on.
    OutOfTime,
}

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
            spec: outlive.read_spec(id)?,
            position: from,
            size: None,
            seen: Seen::Whole,
            ready: VecDeque::new(),
            in_vain: 0,
            deadline: None,
            _hold: Hold::on(&outlive.job_dir(id)),
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
        self.seen = seen;
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
        let (presence, state) = presence::meet(self.outlive, &self.spec.id)?;
        if let Some(chunk) = self.read(&state)? {
            self.in_vain = 0;
            return Ok(Looked::Found(chunk));
        }
        if state.end().is_some() {
            return Ok(Looked::Found(Chunk::Ended));
        }
        // The other stream may bring news all the time.
        let is_late = until.is_some_and(|until| until <= clock::boot());
        if is_late && matches!(self.seen, Seen::Only(_)) {
            return Ok(Looked::NoNews);
        }
        self.in_vain = self.in_vain.saturating_add(1);
        if matches!(presence, Presence::Away(_)) && self.in_vain > MAX_IN_VAIN {
            let pause = after(LOST_AGAIN);
            sleep_until(until.map_or(pause, |until| until.min(pause)))?;
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
                        let answer = connection.receive(&self.spec.id)?;
                        self.size = told_size(&answer);
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
        let Some(place) = Place::resolve(self.outlive, &self.spec.place)? else {
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
    pub fn read(&mut self, state: &State) -> Result<Option<Chunk>, Error> {
        if let Some(chunk) = self.ready.pop_front() {
            return Ok(Some(chunk));
        }
        // The size that was told counts once, and says nothing if all of that was read: there may be more since.
        let size = self.size.take().filter(|size| *size > self.position);
        let output = Output::open_sized(self.outlive, &self.spec, state, size)?;
        let output = output.seen(&self.spec, self.seen)?;
        let path = self.outlive.job_dir(&self.spec.id).output();
        // Where streams change often, pieces are short: then many are read at once.
        let most = match self.seen {
            Seen::Whole => 1,
            Seen::Apart | Seen::Only(_) => AT_ONCE,
        };
        let from = self.position;
        for piece in output.pieces(from..output.size) {
            match piece.map_err(Error::io("cannot read", &path))? {
                Piece::Bytes { at, bytes, stream } => {
                    self.position = at + bytes.len() as u64;
                    self.ready.push_back(Chunk::Bytes { at, bytes, stream });
                }
                Piece::Missing(range) => {
                    self.position = range.end;
                    self.ready.push_back(Chunk::Missing(range));
                }
            }
            if self.position - from >= most {
                break;
            }
        }
        if self.ready.is_empty() {
            // What there is is of the other stream.
            self.position = from.max(output.size);
        }
        Ok(self.ready.pop_front())
    }

    /// A connection on which a reply arrives when there is more output; `None` once the job is over.
    pub fn arm(&self, state: &State) -> Result<Option<Connection>, Error> {
        let connection = presence::reach(self.outlive, &self.spec.id)?;
        if let Some(connection) = &connection {
            connection.send(&Request::News {
                seq: state.seq,
                output: Some(self.position),
            })?;
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
