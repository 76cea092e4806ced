//! Waits until jobs have ended, without polling. Each keeper reports that there is news of its job, and
//! the journal tells what. For jobs of a place, its courier reports which replicas have news.

mod sleeping;

use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::inbox::answering::Reservation;
use crate::inbox::told;
use crate::inbox::{Event, Receipt};
use crate::jobs::away;
use crate::jobs::connection::{Answer, Connection};
use crate::jobs::descriptors;
use crate::jobs::hold::Hold;
use crate::jobs::presence::{self, Presence};
use crate::places::ear::Ears;
use crate::verbs::show;
use outlive_api::event::EventKind;
use outlive_api::job::Job;
pub use outlive_api::request::{Until, Wait, WaitFor};
use outlive_core::control::{Reply, Request};
use outlive_core::told::ToldBy;
use outlive_core::{JobId, Spec, State};
use sleeping::sleep;
use std::time::Duration;

/// How long the keepers have to report details of jobs that have not ended in time.
const PATIENCE: Duration = Duration::from_millis(300);

/// How often to read a job on another host, whose keeper cannot report news.
pub(crate) const LOOK_ELSEWHERE: Duration = Duration::from_secs(15);

/// How long a keeper may take to accept a connection.
const CONNECTING: Duration = Duration::from_millis(100);

/// How long a place may take to lead to a keeper of it.
const CONNECTING_FAR: Duration = Duration::from_secs(2);

/// How often to read a job whose keeper is suspended and accepts no connection.
const LOOK_WITHOUT_KEEPER: Duration = Duration::from_secs(1);

/// The result of a wait.
#[derive(Clone, Debug)]
pub struct Waited {
    /// The jobs in the order of the request, ended or not.
    pub jobs: Vec<Job>,
    /// The jobs for which the awaited event has happened, other than an end.
    pub met: Vec<bool>,
    /// The events that happened, where there is more to say.
    pub events: Vec<Event>,
    /// The time was up first.
    pub out_of_time: bool,
    /// Call `told` on it after the answer is printed.
    pub receipt: Receipt,
}

/// Waits.
pub fn wait(outlive: &Outlive, ids: &[JobId], how: Wait) -> Result<Waited, Error> {
    wait_saying(outlive, ids, how, &mut |_, _| {})
}

/// Waits, and says which places have not been reached for a while, and why. The wait goes on.
pub fn wait_saying(
    outlive: &Outlive,
    ids: &[JobId],
    how: Wait,
    say: &mut dyn FnMut(&str, &str),
) -> Result<Waited, Error> {
    let deadline = how.timeout.map(|timeout| clock::boot() + timeout);
    let budget = descriptors::budget(ids.len());
    let _holds: Vec<Option<Hold>> = ids
        .iter()
        .take(budget.reserved)
        .map(|id| Hold::on(&outlive.job_dir(id)))
        .collect();
    let reserved = reserve(outlive, ids, how.what);
    let most = budget.connections;
    let mut watches: Vec<Watch> = Vec::new();
    let mut ears = Ears::default();
    for id in ids {
        let room = Room::beside(&watches, ids.len(), most);
        watches.push(Watch::arm(outlive, &mut ears, id, how.what, room)?);
    }
    let mut out_of_time = false;
    while !is_enough(&watches, how.until) && !out_of_time {
        let ready = sleep(outlive, ids, &watches, &mut ears, deadline)?;
        out_of_time = deadline.is_some_and(|at| clock::boot() >= at);
        for place in ready {
            let room = Room::beside(&watches, ids.len(), most);
            watches[place] =
                watches[place].look(outlive, &mut ears, &ids[place], how.what, room)?;
        }
        for (place, silence) in ears.say_now() {
            say(&place, &silence.why);
        }
    }
    out_of_time &= !is_enough(&watches, how.until);
    let jobs = show::show_all(outlive, ids, PATIENCE);
    let jobs = jobs.into_iter().collect::<Result<Vec<Job>, Error>>()?;
    let met = |watch: &Watch| matches!(watch, Watch::Met(_));
    let met: Vec<bool> = watches.iter().map(met).collect();
    let events: Vec<Event> = watches.into_iter().flat_map(Watch::events).collect();
    release_untold(&reserved, how.what, &jobs, &met);
    let receipt = receipt(outlive, how.what, &jobs, &met, &events).reserving(reserved);
    Ok(Waited {
        jobs,
        met,
        events,
        out_of_time,
        receipt,
    })
}

/// Lets others tell what the answer does not tell, such as the end of a job that still runs. The caller
/// may keep the answer for a long time.
fn release_untold(reserved: &[Reservation], what: WaitFor, jobs: &[Job], met: &[bool]) {
    for reservation in reserved {
        let mut answers = jobs.iter().zip(met);
        let Some((job, met)) = answers.find(|(job, _)| job.id == *reservation.job()) else {
            continue;
        };
        for kind in what.tells() {
            let is_told = match kind {
                EventKind::Ended => job.has_ended(),
                _ => *met,
            };
            if !is_told {
                reservation.release(*kind);
            }
        }
    }
}

/// What the answer tells: the end of each job, the awaited event, and the events that are shown.
fn receipt(
    outlive: &Outlive,
    what: WaitFor,
    jobs: &[Job],
    met: &[bool],
    events: &[Event],
) -> Receipt {
    let mut receipt = Receipt::nothing(outlive);
    // Nobody is told about a job without a session.
    let owned = |(job, _): &(&Job, _)| job.session.is_some();
    for (job, met) in jobs.iter().zip(met).filter(owned) {
        let sign = match what {
            WaitFor::Ready => Some(EventKind::Ready),
            WaitFor::Input => Some(EventKind::AwaitingInput),
            WaitFor::End | WaitFor::Match | WaitFor::Quiet => None,
        };
        let end = job.has_ended().then_some(EventKind::Ended);
        let kinds: Vec<EventKind> = end.into_iter().chain(sign.filter(|_| *met)).collect();
        let shown = events.iter().filter(|event| event.job == job.id);
        let seqs = shown.map(|event| event.event.seq).collect();
        receipt = receipt.telling(&job.id, ToldBy::Wait, &kinds, seqs);
    }
    receipt
}

/// Reserves the events that a wait would tell, for a caller that waits several times in a row. In
/// between, nobody else in its session tells them.
pub fn reserve(outlive: &Outlive, ids: &[JobId], what: WaitFor) -> Vec<Reservation> {
    let ids = ids.iter().take(descriptors::budget(ids.len()).reserved);
    ids.filter_map(|id| Reservation::of(outlive, id, what.tells()))
        .collect()
}

/// What the verb does for each thing that can be waited for.
trait Awaited: Copy {
    fn tells(self) -> &'static [EventKind];
    fn refuse_unasked(self, spec: &Spec, state: &State) -> Result<(), Error>;
    fn has_come(
        self,
        outlive: &Outlive,
        id: &JobId,
        state: &State,
    ) -> Result<Option<Vec<Event>>, Error>;
}

impl Awaited for WaitFor {
    /// The kinds of events that the answer tells.
    fn tells(self) -> &'static [EventKind] {
        match self {
            WaitFor::End => &[EventKind::Ended],
            WaitFor::Input => &[EventKind::Ended, EventKind::AwaitingInput],
            WaitFor::Ready => &[EventKind::Ended, EventKind::Ready],
            WaitFor::Match => &[EventKind::Ended, EventKind::Matched],
            WaitFor::Quiet => &[EventKind::Ended, EventKind::Quiet],
        }
    }

    /// Refuses to wait for something that the job was not asked to report when it started.
    fn refuse_unasked(self, spec: &Spec, state: &State) -> Result<(), Error> {
        let asked = match self {
            WaitFor::End | WaitFor::Input => return Ok(()),
            WaitFor::Ready => spec.ready.is_some(),
            WaitFor::Match => spec.watch.is_some() || state.watch(spec).is_some(),
            WaitFor::Quiet => spec.quiet_after_ms.is_some(),
        };
        match asked {
            true => Ok(()),
            false => Err(Error::NeverComes {
                id: spec.id.clone(),
                what: self,
            }),
        }
    }

    /// What the journal says has happened, if anything.
    fn has_come(
        self,
        outlive: &Outlive,
        id: &JobId,
        state: &State,
    ) -> Result<Option<Vec<Event>>, Error> {
        let untold = |kind| {
            let events = told::untold(outlive, id, kind)?;
            Ok(Some(events).filter(|events| !events.is_empty()))
        };
        match self {
            WaitFor::End | WaitFor::Input => Ok(None),
            WaitFor::Ready => Ok(state.signs.ready.map(|_| Vec::new())),
            WaitFor::Match => untold(EventKind::Matched),
            WaitFor::Quiet => untold(EventKind::Quiet),
        }
    }
}

/// One job of a wait.
enum Watch {
    Ended,
    /// The awaited event has happened.
    Met(Vec<Event>),
    /// Its keeper writes to this connection when there is news, and the connection closes when the
    /// keeper dies.
    Armed(Connection),
    /// The courier of this place tells when its replica has news.
    Listening(String),
    /// Its record is read from time to time: the job is on another host, or its keeper is suspended.
    Unarmed(Duration),
}

impl Watch {
    fn events(self) -> Vec<Event> {
        match self {
            Watch::Met(events) => events,
            Watch::Ended | Watch::Armed(_) | Watch::Listening(_) | Watch::Unarmed(_) => Vec::new(),
        }
    }

    fn arm(
        outlive: &Outlive,
        ears: &mut Ears,
        id: &JobId,
        what: WaitFor,
        room: Room,
    ) -> Result<Watch, Error> {
        loop {
            let (presence, state) = presence::meet(outlive, id)?;
            let has_ended = state.end().is_some();
            if has_ended && matches!(what, WaitFor::End | WaitFor::Input) {
                return Ok(Watch::Ended);
            }
            // Do not wait either for an event that could not be told in the end.
            what.refuse_unasked(&outlive.read_spec(id)?, &state)?;
            if let Some(events) = what.has_come(outlive, id, &state)? {
                return Ok(Watch::Met(events));
            }
            if has_ended {
                return Ok(Watch::Ended);
            }
            match (presence, room) {
                (Presence::Away(away), _) => {
                    // What changed before it listens is read again.
                    match ears.listen(outlive, away::resolve(outlive, &away)?) {
                        true => continue,
                        false => return Watch::listen(outlive, ears, away.place, id, what),
                    }
                }
                (Presence::Elsewhere(_), _) => return Ok(Watch::Unarmed(LOOK_ELSEWHERE)),
                (_, Room::None { jobs, most }) => return Err(Error::TooFewFiles { jobs, most }),
                (Presence::Kept | Presence::Over, Room::Some) => {}
            }
            let reached = match presence::reach_within(outlive, id, CONNECTING) {
                // Its keeper is suspended, and earlier requests got no answer. Its record is read from
                // time to time instead.
                Err(error) if error.is_silence() => return Ok(Watch::Unarmed(LOOK_WITHOUT_KEEPER)),
                other => other?,
            };
            if let Some(connection) = reached {
                connection.send(&match what {
                    WaitFor::Input => Request::AwaitInput,
                    WaitFor::End | WaitFor::Ready | WaitFor::Match | WaitFor::Quiet => {
                        Request::News {
                            seq: state.seq,
                            output: None,
                        }
                    }
                })?;
                return Ok(Watch::Armed(connection));
            }
        }
    }

    /// Waits for news of a job of a place. Only its keeper knows when it waits for input.
    fn listen(
        outlive: &Outlive,
        ears: &Ears,
        place: String,
        id: &JobId,
        what: WaitFor,
    ) -> Result<Watch, Error> {
        if what == WaitFor::Input && ears.is_reached(&place) {
            match presence::reach_within(outlive, id, CONNECTING_FAR) {
                Ok(Some(connection)) => {
                    connection.send(&Request::AwaitInput)?;
                    return Ok(Watch::Armed(connection));
                }
                // It is over; its replica tells.
                Ok(None) => return Ok(Watch::Unarmed(Duration::ZERO)),
                // The courier tells when it is reached.
                Err(Error::Place(PlaceError::Unreached { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Watch::Listening(place))
    }

    /// Its keeper has written something or has died, or its courier has told something.
    fn look(
        &mut self,
        outlive: &Outlive,
        ears: &mut Ears,
        id: &JobId,
        what: WaitFor,
        room: Room,
    ) -> Result<Watch, Error> {
        if let (Watch::Armed(connection), WaitFor::Input) = (&mut *self, what)
            && let Ok(Answer::Reply(Reply::InputAwaited { .. })) = connection.receive(id)
        {
            return Ok(Watch::Met(Vec::new()));
        }
        // The old connection is replaced by the new one.
        let room = match self {
            Watch::Armed(_) => Room::Some,
            _ => room,
        };
        Watch::arm(outlive, ears, id, what, room)
    }
}

/// Whether there is room for one more connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Some,
    /// So many jobs were asked about, and so many can be connected to.
    None {
        jobs: usize,
        most: usize,
    },
}

impl Room {
    fn beside(watches: &[Watch], jobs: usize, most: usize) -> Room {
        // Most waits are for fewer jobs than that, and need not count.
        let is_free = jobs <= most || {
            let armed = |watch: &&Watch| matches!(watch, Watch::Armed(_));
            watches.iter().filter(armed).count() < most
        };
        match is_free {
            true => Room::Some,
            false => Room::None { jobs, most },
        }
    }
}

fn is_enough(watches: &[Watch], until: Until) -> bool {
    let mut met = watches
        .iter()
        .map(|watch| matches!(watch, Watch::Ended | Watch::Met(_)));
    match until {
        Until::All => met.all(|met| met),
        Until::Any => watches.is_empty() || met.any(|met| met),
    }
}
