//! Sleeps until one of many jobs has news: one connection for each running job, and none for an ended one.
//!
//! A keeper answers one request for news, and is then asked again on the same connection. If it dies, the connection
//! closes, and the job has to be met again. A job on another host, and one whose keeper accepts no connection, is read
//! from time to time.

mod line;
mod waker;

pub use waker::Waker;

use super::{CONNECTING, Next, Presence, Wanted};
use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::bell::{Bell, Rung};
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, Away};
use crate::jobs::connection::Connection;
use crate::jobs::descriptors;
use crate::places::ear::{Ears, Heard as FromCourier};
use crate::verbs::wait::LOOK_ELSEWHERE;
use line::{Line, News, Post};
use outlive_core::control::Request;
use outlive_core::{BootTime, JobId};
use outlive_sys::poll::{self, Interest};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How often to read a job whose keeper is suspended and accepts no connection, or for which there is no room.
const LOOK_WITHOUT_KEEPER: Duration = Duration::from_secs(1);

/// The pause before a place that was not reached is asked again.
const LOST_AGAIN: Duration = Duration::from_millis(200);

/// Listens for news of many jobs.
#[derive(Debug)]
pub struct Listener {
    outlive: Outlive,
    lines: HashMap<JobId, Line>,
    ears: Ears,
    bell: Option<Bell>,
    waker: Option<waker::Woken>,
    /// How many connections there may be.
    most: usize,
}

/// Something that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The job has news, or had to be read again.
    Job(JobId),
    /// A process of the job waits for input.
    Input(JobId),
    /// Something is new in the home: see [`Listener::listen_to_home`].
    Home(Rung),
    /// A [`Waker`] was used.
    Woken,
}

impl Listener {
    /// A listener that has no connection yet. It may have `most` of them; if more are wanted and the limit on open files
    /// allows it, it takes more.
    pub fn new(outlive: &Outlive, most: usize) -> Listener {
        Listener {
            outlive: outlive.clone(),
            lines: HashMap::new(),
            ears: Ears::default(),
            bell: None,
            waker: None,
            most,
        }
    }

    /// Hears from now on of every job that is started, removed or changed without a keeper, and of every post.
    pub fn listen_to_home(&mut self) -> Result<(), Error> {
        if self.bell.is_none() {
            self.bell = Some(Bell::of_home(&self.outlive)?);
        }
        Ok(())
    }

    /// Something that other threads end the sleep with.
    pub fn waker(&mut self) -> Result<Waker, Error> {
        let failed = Error::io("cannot make", "a pipe");
        let (waker, woken) = waker::pair().map_err(failed)?;
        self.waker = Some(woken);
        Ok(waker)
    }

    /// Asks for news of a job, which was just met like this.
    pub fn want(&mut self, id: &JobId, met: &Presence, wanted: Wanted) -> Result<Next, Error> {
        match met {
            Presence::Over => {
                self.lines.remove(id);
                Ok(Next::Over)
            }
            Presence::Elsewhere(_) => {
                self.look_after(id, LOOK_ELSEWHERE);
                Ok(Next::Sleep)
            }
            Presence::Kept => self.want_here(id, wanted),
            Presence::Away(away) => self.want_there(id, away, wanted),
        }
    }

    fn want_here(&mut self, id: &JobId, wanted: Wanted) -> Result<Next, Error> {
        let needed = 1 + usize::from(wanted.input);
        let has = self.lines.get(id).map_or(0, Line::connections);
        if has < needed && !self.has_room_for(needed - has) {
            return Ok(Next::NoRoom);
        }
        let dir = self.outlive.job_dir(id);
        let open = || Connection::open(&dir, CONNECTING);
        let line = self.lines.entry(id.clone()).or_default();
        if line.news.is_asked(wanted) && (line.input.is_some() || !wanted.input) {
            return Ok(Next::Sleep);
        }
        let found = match line.news.is_open() {
            true => Ok(true),
            false => open().map(|opened| line.news.open(opened)),
        };
        match found {
            Ok(true) => line.ask(wanted)?,
            // Its keeper starts to listen in a moment, and sends no notification.
            Ok(false) => {
                line.look_soon();
                return Ok(Next::Sleep);
            }
            Err(error) if error.is_silence() => {
                self.look_after(id, LOOK_WITHOUT_KEEPER);
                return Ok(Next::Sleep);
            }
            Err(error) => return Err(error),
        }
        if wanted.input && line.input.is_none() {
            match open() {
                Ok(Some(connection)) => {
                    connection.send(&Request::AwaitInput)?;
                    line.input = Some(connection);
                }
                Ok(None) => line.look_soon(),
                Err(error) if error.is_silence() => line.look_soon(),
                Err(error) => return Err(error),
            }
        }
        Ok(Next::Sleep)
    }

    fn want_there(&mut self, id: &JobId, away: &Away, wanted: Wanted) -> Result<Next, Error> {
        // What changed before it listens is read again.
        let place = away::resolve(&self.outlive, away)?;
        let name = place.name.clone();
        let is_new = self.ears.listen(&self.outlive, place);
        let is_reached = self.ears.is_reached(&name);
        let line = self.lines.entry(id.clone()).or_default();
        line.place = Some(name);
        if is_new {
            return Ok(Next::ReadAgain);
        }
        // The courier tells of records. Only the keeper knows what was written and what waits for input.
        let needs_keeper = wanted.output.is_some() || wanted.input;
        if needs_keeper && line.news.is_open() && !line.news.is_asked(wanted) {
            line.news.ask(wanted)?;
        }
        let is_due = line.look_at.is_none_or(|at| at <= clock::boot());
        if needs_keeper && !line.news.is_open() && is_reached && is_due {
            return Ok(match self.has_room_for(1) {
                true => Next::Connect,
                false => Next::NoRoom,
            });
        }
        Ok(Next::Sleep)
    }

    /// Hands over the connection to a keeper at a place, or the attempt to make it.
    pub fn connected(
        &mut self,
        id: &JobId,
        wanted: Wanted,
        connection: Result<Option<Connection>, Error>,
    ) -> Result<Next, Error> {
        let line = self.lines.entry(id.clone()).or_default();
        match connection {
            Ok(Some(connection)) if wanted.input => {
                connection.send(&Request::AwaitInput)?;
                line.input = Some(connection);
                Ok(Next::Sleep)
            }
            Ok(Some(connection)) => {
                line.news.open(Some(connection));
                line.news.ask(wanted)?;
                Ok(Next::Sleep)
            }
            // It is over; its record tells.
            Ok(None) => Ok(Next::ReadAgain),
            // The courier tells when the place is reached.
            Err(Error::Place(PlaceError::Unreached { .. })) => {
                line.look_at = Some(clock::boot() + LOST_AGAIN);
                Ok(Next::Sleep)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads this job again after a pause, for want of a better way.
    pub fn look_after(&mut self, id: &JobId, pause: Duration) {
        let line = self.lines.entry(id.clone()).or_default();
        line.news = Post::None;
        line.look_at = Some(clock::boot() + pause);
    }

    /// Reads this job again after a second, because there is no room for a connection.
    pub fn look_now_and_then(&mut self, id: &JobId) {
        self.look_after(id, LOOK_WITHOUT_KEEPER);
    }

    /// Whether news after this event is asked for already.
    pub fn listens(&self, id: &JobId, wanted: Wanted) -> bool {
        self.lines.get(id).is_some_and(|line| {
            let is_timed = line.look_at.is_some_and(|at| at > clock::boot());
            let is_told = line.place.is_some() && wanted.output.is_none() && !wanted.input;
            is_timed || is_told || line.news.is_asked(wanted)
        })
    }

    /// Nobody wants news of this job any more.
    pub fn forget(&mut self, id: &JobId) {
        self.lines.remove(id);
        let lines = &self.lines;
        self.ears.retain(|place| {
            let mut places = lines.values().filter_map(|line| line.place.as_deref());
            places.any(|wanted| wanted == place)
        });
    }

    /// The jobs that are read from time to time, because nobody can tell their news.
    pub fn unheard(&self) -> Vec<JobId> {
        let lines = self.lines.iter();
        let timed = lines.filter(|(_, line)| line.look_at.is_some());
        timed.map(|(id, _)| id.clone()).collect()
    }

    /// How many connections there may be.
    pub fn most(&self) -> usize {
        self.most
    }

    fn has_room_for(&mut self, more: usize) -> bool {
        // Mostly there is room for all, and they need not be counted.
        if more + 2 * self.lines.len() <= self.most {
            return true;
        }
        let wanted = more + self.lines.values().map(Line::connections).sum::<usize>();
        if wanted > self.most {
            self.most = self.most.max(descriptors::connections(wanted));
        }
        wanted <= self.most
    }

    /// Sleeps until something is heard, until this moment, or until there is something to [say](Listener::say_now).
    pub fn sleep(&mut self, until: Option<BootTime>) -> Result<Vec<Heard>, Error> {
        loop {
            let heard = self.sleep_once(until)?;
            let due = until.into_iter().chain(self.ears.say_at()).min();
            if !heard.is_empty() || due.is_some_and(|at| at <= clock::boot()) {
                return Ok(heard);
            }
        }
    }

    fn sleep_once(&mut self, until: Option<BootTime>) -> Result<Vec<Heard>, Error> {
        let look = self.lines.values().filter_map(|line| line.look_at).min();
        let next = [until, look, self.ears.wake_at(), self.ears.say_at()];
        let next = next.into_iter().flatten().min();
        let limit = next.map(|at| at.since(clock::boot()));
        let lines = self.lines.values().flat_map(Line::asked);
        let readable = |fd| (fd, Interest::Readable);
        let mut on: Vec<(BorrowedFd<'_>, Interest)> = lines
            .map(|(_, connection)| readable(connection.as_fd()))
            .collect();
        let (places, couriers): (Vec<String>, Vec<_>) = self
            .ears
            .descriptors()
            .map(|(name, fd)| (name.to_owned(), fd))
            .unzip();
        let couriers_at = on.len();
        on.extend(couriers.into_iter().map(readable));
        let others_at = on.len();
        on.extend(self.bell.iter().map(|bell| readable(bell.as_fd())));
        on.extend(self.waker.iter().map(|waker| readable(waker.as_fd())));
        let ready = poll::wait(&on, limit).map_err(Error::io("cannot wait for", "keepers"))?;
        drop(on);
        let mut heard = Vec::new();
        self.hear_keepers(&ready[..couriers_at], &mut heard);
        self.hear_couriers(&places, &ready[couriers_at..others_at], &mut heard);
        self.hear_others(&ready[others_at..], &mut heard);
        self.look_again(&mut heard);
        Ok(heard)
    }

    fn hear_keepers(&mut self, ready: &[bool], heard: &mut Vec<Heard>) {
        let lines = self.lines.iter();
        let asked = lines.flat_map(|(id, line)| line.asked().map(move |(what, _)| (id, what)));
        let told = asked.zip(ready).filter(|(_, ready)| **ready);
        let told: Vec<(JobId, News)> = told.map(|((id, what), _)| (id.clone(), what)).collect();
        for (id, what) in told {
            let Some(line) = self.lines.get_mut(&id) else {
                continue;
            };
            match what {
                News::Records if line.news.has_answered(&id) => heard.push(Heard::Job(id)),
                News::Records => {}
                News::Input => match line.input_awaited(&id) {
                    Some(true) => heard.push(Heard::Input(id)),
                    Some(false) => heard.push(Heard::Job(id)),
                    None => {}
                },
            }
        }
    }

    fn hear_couriers(&mut self, places: &[String], ready: &[bool], heard: &mut Vec<Heard>) {
        let mut all = Vec::new();
        let told = places.iter().zip(ready).filter(|(_, told)| **told);
        for (place, _) in told {
            all.push((place.clone(), self.ears.hear(&self.outlive, place)));
        }
        let woken = self.ears.wake(&self.outlive).into_iter();
        all.extend(woken.map(|place| (place, FromCourier::Anything)));
        for (place, what) in all {
            let lines = self.lines.iter();
            let there = lines.filter(|(_, line)| line.place.as_deref() == Some(&place));
            let concerned = there.filter(|(id, _)| what.concerns(id));
            heard.extend(concerned.map(|(id, _)| Heard::Job(id.clone())));
        }
    }

    fn hear_others(&mut self, ready: &[bool], heard: &mut Vec<Heard>) {
        let mut ready = ready.iter();
        if let Some(bell) = &self.bell
            && ready.next() == Some(&true)
        {
            heard.push(Heard::Home(bell.heard()));
        }
        if let Some(waker) = &mut self.waker
            && ready.next() == Some(&true)
        {
            waker.quiet();
            heard.push(Heard::Woken);
        }
    }

    /// The jobs that are read because their time has come.
    fn look_again(&mut self, heard: &mut Vec<Heard>) {
        let now = clock::boot();
        for (id, line) in &mut self.lines {
            if line.look_at.is_some_and(|at| at <= now) {
                line.look_at = None;
                heard.push(Heard::Job(id.clone()));
            }
        }
    }

    /// The places that have been silent for so long that a person should know. Each is said once in a silence.
    pub fn say_now(&mut self) -> Vec<(String, String)> {
        let silent = self.ears.say_now().into_iter();
        silent
            .map(|(place, silence)| (place, silence.why))
            .collect()
    }
}
