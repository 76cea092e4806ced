//! Takes the events that a session has not been told yet, and waits for new ones.

use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::bell::Bell;
use crate::inbox::{self, Ack, Delivery, Inbox, Selection};
use crate::jobs::away::{self, Away};
use crate::jobs::connection::Connection;
use crate::jobs::descriptors;
use crate::jobs::presence::{self, Presence};
use crate::places::contact;
use crate::places::ear::Ears;
use crate::verbs::wait::LOOK_ELSEWHERE;
use outlive_core::control::Request;
use outlive_core::told::AgentProcess;
use outlive_core::{BootTime, JobId, ProcRef};
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::PidFd;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Takes the events that are due now, ready to be delivered: see [`Delivery`]. Places where jobs of the session run have
/// a moment to tell what is new.
pub fn take(inbox: &Inbox, selection: Selection) -> Result<Delivery, Error> {
    contact::refresh(inbox.outlive(), inbox.session());
    take_known(inbox, selection)
}

pub(crate) fn take_known(inbox: &Inbox, selection: Selection) -> Result<Delivery, Error> {
    Ok(inbox.claim(selection)?.confirm())
}

/// Marks events as told. Returns the jobs and posts that could not be read, with a message for each.
pub fn ack(inbox: &Inbox, asked: &Ack) -> Result<Vec<(JobId, String)>, Error> {
    if !asked.events.is_empty() {
        inbox.ack(&asked.events)?;
    }
    if !asked.jobs.is_empty() {
        inbox.ack_jobs(&asked.jobs)?;
    }
    match asked.delivered {
        true => inbox.ack_delivered(),
        false => Ok(Vec::new()),
    }
}

/// The first pause before retrying a job that is being started or cannot be read, since no notification
/// comes for these. The pause doubles each time, up to a limit.
const SHORTEST_PAUSE_MS: u64 = 1;
const LONGEST_LAUNCH: Duration = Duration::from_secs(1);
pub(crate) const LONGEST_UNREADABLE: Duration = Duration::from_secs(30);
/// How long a keeper may take to accept a connection. After that, the connection is retried.
const CONNECTING: Duration = Duration::from_millis(100);

/// Waits for events in an inbox, without polling.
#[derive(Debug)]
pub struct Waiter<'a> {
    inbox: &'a Inbox,
    wake_up: Bell,
    /// Connections to the keepers of the session's running jobs. Each keeper answers when there is news
    /// of its job, and its connection closes when it dies.
    keepers: HashMap<JobId, Connection>,
    /// The couriers of the places where jobs of the session run.
    ears: Ears,
    /// How many waits in a row needed a retry after a pause.
    tries: u32,
    receiver: Receiver<'a>,
    /// The agents that have been handed events. If one dies before it has read them, they are due.
    agents: HashMap<AgentProcess, PidFd>,
}

/// Where the events go.
#[derive(Clone, Copy, Debug)]
enum Receiver<'a> {
    /// The caller named no receiver.
    Unknown,
    /// The events are written to this file descriptor.
    At(BorrowedFd<'a>),
    /// The other end is closed.
    Gone,
}

/// Whether the keeper of every running job is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    All,
    /// Some jobs run on another host, so only their records can be read.
    NotFromHere,
    /// Some jobs have no keeper that accepts connections yet.
    NotYet,
    /// Some jobs are over by now, and their ends can be taken. Or a courier is listened to from now on, and what came
    /// before that must be read again.
    SomeAreOver,
}

impl<'a> Waiter<'a> {
    /// Waits for this inbox.
    pub fn new(inbox: &'a Inbox) -> Result<Waiter<'a>, Error> {
        Ok(Waiter {
            inbox,
            wake_up: inbox::listen(inbox.outlive(), inbox.session())?,
            keepers: HashMap::new(),
            ears: Ears::default(),
            tries: 0,
            receiver: Receiver::Unknown,
            agents: HashMap::new(),
        })
    }

    /// Stops waiting when the other end of `fd` closes: events claimed for a receiver that has gone would
    /// be held back from other consumers.
    pub fn for_receiver(mut self, fd: BorrowedFd<'a>) -> Waiter<'a> {
        self.receiver = Receiver::At(fd);
        self
    }

    /// Whether the receiver has closed its end.
    pub fn receiver_is_gone(&self) -> bool {
        matches!(self.receiver, Receiver::Gone)
    }

    /// Waits until there are events, the deadline has passed, or the receiver has gone.
    pub fn next(
        &mut self,
        selection: Selection,
        deadline: Option<BootTime>,
    ) -> Result<Delivery, Error> {
        loop {
            self.wake_up.quiet();
            let delivery = take_known(self.inbox, selection)?;
            let out_of_time = deadline.is_some_and(|at| clock::boot() >= at);
            if !delivery.is_empty() || out_of_time {
                return Ok(delivery);
            }
            self.sleep_until_news(&delivery, deadline)?;
            if self.receiver_is_gone() {
                return Ok(delivery);
            }
        }
    }

    /// Waits until something may have changed since this delivery.
    pub fn sleep_until_news(
        &mut self,
        delivery: &Delivery,
        deadline: Option<BootTime>,
    ) -> Result<(), Error> {
        let reached = self.connect(delivery.running())?;
        let retry = match reached.max(self.watch_agents(delivery.handed_to())?) {
            Reached::SomeAreOver => return Ok(()),
            Reached::NotYet => Some(LONGEST_LAUNCH),
            Reached::NotFromHere => Some(LOOK_ELSEWHERE),
            Reached::All if delivery.problems().next().is_some() => Some(LONGEST_UNREADABLE),
            Reached::All => None,
        };
        let retry = self.back_off(retry);
        let until = [deadline, delivery.lapses_at(), retry]
            .into_iter()
            .flatten();
        let until = until.chain(self.ears.wake_at());
        self.sleep(until.min(), delivery.running())
    }

    /// When to retry, if no notification will come.
    fn back_off(&mut self, longest: Option<Duration>) -> Option<BootTime> {
        let Some(longest) = longest else {
            self.tries = 0;
            return None;
        };
        let pause = SHORTEST_PAUSE_MS.checked_shl(self.tries);
        let pause = pause.map_or(longest, Duration::from_millis);
        self.tries = (self.tries + 1).min(u64::BITS - 1);
        Some(clock::boot() + pause.min(longest))
    }

    /// Asks every keeper to report news after the last event that was read.
    fn connect(&mut self, running: &[(JobId, u64)]) -> Result<Reached, Error> {
        self.keepers
            .retain(|id, _| running.iter().any(|(running, _)| running == id));
        let mut reached = Reached::All;
        let mut places = Vec::new();
        let most = descriptors::budget(running.len()).connections;
        for (id, seq) in running {
            if self.keepers.contains_key(id) {
                continue;
            }
            let found = self.reach(id);
            if let Ok((Presence::Away(away), _)) = &found {
                reached = reached.max(self.listen(away)?);
                places.push(away.place.clone());
                continue;
            }
            if self.keepers.len() >= most {
                let jobs = running.len();
                return Err(Error::TooFewFiles { jobs, most });
            }
            match found {
                Ok((_, Some(connection))) => {
                    let (seq, output) = (*seq, None);
                    connection.send(&Request::News { seq, output })?;
                    self.keepers.insert(id.clone(), connection);
                }
                Ok((Presence::Over, None)) | Err(Error::NoSuchJob(_)) => {
                    reached = reached.max(Reached::SomeAreOver);
                }
                Ok((Presence::Elsewhere(_), None)) => {
                    reached = reached.max(Reached::NotFromHere);
                }
                // If one job cannot be reached, the events of the others are still delivered.
                Ok((Presence::Kept | Presence::Away(_), None)) | Err(_) => {
                    reached = reached.max(Reached::NotYet);
                }
            }
        }
        self.ears
            .retain(|place| places.iter().any(|wanted| wanted == place));
        Ok(reached)
    }

    /// Listens to the courier of a place. If it did not before, what came before that must be read again.
    fn listen(&mut self, away: &Away) -> Result<Reached, Error> {
        let outlive = self.inbox.outlive();
        match away::resolve(outlive, away) {
            // It was removed from the configuration. The other jobs are told all the same.
            Err(Error::Place(PlaceError::NoSuch(_))) => Ok(Reached::NotFromHere),
            place => Ok(match self.ears.listen(outlive, place?) {
                true => Reached::SomeAreOver,
                false => Reached::All,
            }),
        }
    }

    /// Notices the ends of these agents. Without pidfds they have to be looked for.
    fn watch_agents(&mut self, agents: &[AgentProcess]) -> Result<Reached, Error> {
        self.agents.retain(|agent, _| agents.contains(agent));
        let mut reached = Reached::All;
        for agent in agents {
            if self.agents.contains_key(agent) {
                continue;
            }
            let ProcRef { pid, started } = agent.process;
            let opened = PidFd::open_started(pid, started);
            match opened.map_err(Error::io("cannot watch", "the agent's process"))? {
                Some(process) if process.bell().is_some() => {
                    self.agents.insert(*agent, process);
                }
                Some(_) => reached = reached.max(Reached::NotFromHere),
                None => reached = reached.max(Reached::SomeAreOver),
            }
        }
        Ok(reached)
    }

    /// Connects to a job's keeper, if one accepts connections.
    fn reach(&self, id: &JobId) -> Result<(Presence, Option<Connection>), Error> {
        let outlive = self.inbox.outlive();
        let (presence, _) = presence::meet(outlive, id)?;
        Ok(match presence {
            Presence::Over | Presence::Elsewhere(_) | Presence::Away(_) => (presence, None),
            Presence::Kept => (
                presence,
                Connection::open(&outlive.job_dir(id), CONNECTING)?,
            ),
        })
    }

    /// Sleeps until the bell rings or a keeper says something, which needs to be asked again then.
    fn sleep(&mut self, until: Option<BootTime>, running: &[(JobId, u64)]) -> Result<(), Error> {
        while !self.slept(until, running)? {}
        Ok(())
    }

    /// Sleeps once. Returns whether something may have changed for this session.
    fn slept(&mut self, until: Option<BootTime>, running: &[(JobId, u64)]) -> Result<bool, Error> {
        let limit = until.map(|at| at.since(clock::boot()));
        let (ids, mut on): (Vec<JobId>, Vec<_>) = self
            .keepers
            .iter()
            .map(|(id, keeper)| (id.clone(), (keeper.as_fd(), Interest::Readable)))
            .unzip();
        let agents = self.agents.values().filter_map(PidFd::bell);
        on.extend(agents.map(|bell| (bell, Interest::Readable)));
        let wake_up = on.len();
        on.push((self.wake_up.as_fd(), Interest::Readable));
        let couriers: Vec<String> = self
            .ears
            .descriptors()
            .map(|(name, fd)| {
                on.push((fd, Interest::Readable));
                name.to_owned()
            })
            .collect();
        if let Receiver::At(fd) = self.receiver {
            on.push((fd, Interest::HangUp));
        }
        let ready = poll::wait(&on, limit).map_err(Error::io("cannot wait for", "the inbox"))?;
        drop(on);
        let (others, told) = ready.split_at(wake_up + 1);
        if told.get(couriers.len()) == Some(&true) {
            self.receiver = Receiver::Gone;
        }
        let told = couriers.iter().zip(told).filter(|(_, told)| **told);
        let told: Vec<&String> = told.map(|(name, _)| name).collect();
        let is_only_courier = !told.is_empty() && !others.contains(&true);
        let mut concerns = false;
        let outlive = self.inbox.outlive();
        for name in told {
            let heard = self.ears.hear(outlive, name);
            concerns |= running.iter().any(|(id, _)| heard.concerns(id));
        }
        concerns |= !self.ears.wake(outlive).is_empty();
        for (id, _) in ids.iter().zip(others).filter(|(_, ready)| **ready) {
            self.keepers.remove(id);
        }
        if is_only_courier && !concerns && !self.receiver_is_gone() {
            return Ok(false);
        }
        // A wake-up from here on comes after the next look has begun, so it is not lost.
        self.wake_up.quiet();
        Ok(true)
    }
}
