//! Listens to couriers: one connection for each place, however many jobs.
//!
//! A courier that is listened to reaches its place again when the wire is lost. It tells that, and which replicas have
//! new records. If it is killed, another one is started.

use super::dial::{self, Tidings};
use super::records::Silence;
use super::settings::Place;
use crate::clock;
use crate::home::outlive::Outlive;
use crate::hooks;
use outlive_core::{BootTime, JobId};
use outlive_sys::control::{Read, Stream};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long a place may be silent before a person is told who waits for it.
fn say_after() -> Duration {
    hooks::unhurried(Duration::from_secs(10))
}

/// When to start a courier again that could not be started.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// Connections to couriers, by the names of their places.
#[derive(Debug, Default)]
pub struct Ears(BTreeMap<String, Ear>);

#[derive(Debug)]
struct Ear {
    place: Place,
    listens: Listens,
    silence: Option<Unheard>,
}

#[derive(Debug)]
enum Listens {
    To(Stream, Vec<u8>),
    /// No courier could be started. The next attempt is then.
    Deaf(BootTime),
}

/// A place that is not reached.
#[derive(Debug)]
struct Unheard {
    silence: Silence,
    /// When somebody should be told.
    say_at: BootTime,
    is_said: bool,
}

/// What a courier told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// These replicas have new records.
    Changed(Vec<JobId>),
    /// Anything may have changed.
    Anything,
}

impl Ears {
    /// Listens to the courier of this place from now on. Returns whether that is new: what is read of its jobs after
    /// that does not miss a later change.
    pub fn listen(&mut self, outlive: &Outlive, place: Place) -> bool {
        if self.0.contains_key(&place.name) {
            return false;
        }
        let ear = Ear {
            listens: Listens::to(outlive, &place),
            silence: None,
            place,
        };
        self.0.insert(ear.place.name.clone(), ear);
        true
    }

    /// Stops listening to places that are not among these.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.0.retain(|place, _| is_wanted(place));
    }

    /// Whether this place was reached when its courier last told.
    pub fn is_reached(&self, place: &str) -> bool {
        let ear = self.0.get(place);
        ear.is_some_and(|ear| ear.silence.is_none() && matches!(ear.listens, Listens::To(..)))
    }

    /// The descriptors to wait for, with the names of their places.
    pub fn descriptors(&self) -> impl Iterator<Item = (&str, BorrowedFd<'_>)> {
        self.0.iter().filter_map(|(name, ear)| match &ear.listens {
            Listens::To(stream, _) => Some((name.as_str(), stream.as_fd())),
            Listens::Deaf(_) => None,
        })
    }

    /// When to [`wake`](Ears::wake) a courier that could not be started.
    pub fn wake_at(&self) -> Option<BootTime> {
        let times = self.0.values().filter_map(|ear| match ear.listens {
            Listens::Deaf(until) => Some(until),
            Listens::To(..) => None,
        });
        times.min()
    }

    /// When there is something [`say_now`](Ears::say_now).
    pub fn say_at(&self) -> Option<BootTime> {
        let unheard = self.0.values().filter_map(|ear| ear.silence.as_ref());
        let unsaid = unheard.filter(|unheard| !unheard.is_said);
        unsaid.map(|unheard| unheard.say_at).min()
    }

    /// Starts couriers again that could not be started before, if it is time. Returns their places.
    pub fn wake(&mut self, outlive: &Outlive) -> Vec<String> {
        let mut woken = Vec::new();
        for (name, ear) in &mut self.0 {
            if matches!(ear.listens, Listens::Deaf(until) if until <= clock::boot()) {
                ear.listens = Listens::to(outlive, &ear.place);
                woken.push(name.clone());
            }
        }
        woken
    }

    /// The places that have been silent for so long that a person should know. Each is said once in a silence.
    pub fn say_now(&mut self) -> Vec<(String, Silence)> {
        let now = clock::boot();
        let mut said = Vec::new();
        for (name, ear) in &mut self.0 {
            if let Some(unheard) = &mut ear.silence
                && !unheard.is_said
                && unheard.say_at <= now
            {
                unheard.is_said = true;
                said.push((name.clone(), unheard.silence.clone()));
            }
        }
        said
    }

    /// Reads what the courier of this place has told. Its descriptor is readable.
    pub fn hear(&mut self, outlive: &Outlive, place: &str) -> Heard {
        let Some(ear) = self.0.get_mut(place) else {
            return Heard::Changed(Vec::new());
        };
        let Listens::To(stream, input) = &mut ear.listens else {
            return Heard::Anything;
        };
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer) {
            Ok(Read::Bytes(count)) => input.extend_from_slice(&buffer[..count]),
            Ok(Read::Empty) => return Heard::Changed(Vec::new()),
            // That courier is gone. The next one begins with what is so now.
            Ok(Read::End) | Err(_) => {
                ear.listens = Listens::to(outlive, &ear.place);
                return Heard::Anything;
            }
        }
        let mut heard = Heard::Changed(Vec::new());
        while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = input.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Tidings::Changed { job }) => heard.add(job),
                Ok(Tidings::Unreached(silence)) => {
                    let unheard = ear.silence.get_or_insert_with(|| Unheard {
                        silence: silence.clone(),
                        say_at: clock::boot() + say_after(),
                        is_said: false,
                    });
                    unheard.silence = silence;
                    heard = Heard::Anything;
                }
                Ok(Tidings::Reached { .. }) => {
                    ear.silence = None;
                    heard = Heard::Anything;
                }
                // A later release tells more.
                Err(_) => {}
            }
        }
        heard
    }
}

impl Heard {
    fn add(&mut self, job: JobId) {
        match self {
            Heard::Changed(jobs) if !jobs.contains(&job) => jobs.push(job),
            Heard::Changed(_) | Heard::Anything => {}
        }
    }

    /// Whether this job may have changed.
    pub fn concerns(&self, job: &JobId) -> bool {
        match self {
            Heard::Changed(jobs) => jobs.contains(job),
            Heard::Anything => true,
        }
    }
}

impl Listens {
    fn to(outlive: &Outlive, place: &Place) -> Listens {
        match dial::listen(outlive, place) {
            Ok(stream) => Listens::To(stream, Vec::new()),
            Err(_) => Listens::Deaf(clock::boot() + TRY_AGAIN),
        }
    }
}
