//! Waits until jobs have ended, without polling. Each keeper reports that there is news of its job, and
//! the journal tells what. For jobs of a place, its courier reports which replicas have news.

mod waiting;

pub use waiting::Waiting;

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::answering::Reservation;
use crate::inbox::told;
use crate::inbox::{Event, Receipt};
use crate::jobs::descriptors;
use crate::jobs::presence;
use crate::listening::{self, Heard, Listener, Next};
use outlive_api::event::EventKind;
use outlive_api::job::Job;
pub use outlive_api::request::{Until, Wait, WaitFor};
use outlive_core::told::ToldBy;
use outlive_core::{JobId, Spec, State};
use std::time::Duration;

/// How often to read a job on another host, whose keeper cannot report news.
pub(crate) const LOOK_ELSEWHERE: Duration = Duration::from_secs(15);

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
    // One connection tells of records, and one of input.
    let each = if how.what == WaitFor::Input { 2 } else { 1 };
    let budget = descriptors::budget(ids.len() * each);
    let mut waiting = Waiting::begin(outlive, ids, how, budget.reserved);
    let mut listener = Listener::new(outlive, budget.connections);
    for id in ids {
        look(&mut waiting, &mut listener, id)?;
    }
    while !waiting.is_over() {
        for heard in listener.sleep(waiting.deadline())? {
            match heard {
                Heard::Input(id) => waiting.input_awaited(&id),
                Heard::Job(id) => look(&mut waiting, &mut listener, &id)?,
                Heard::Home(_) | Heard::Woken => {}
            }
        }
        // Nobody tells of these, so they are read a last time when the time is up.
        if waiting.is_out_of_time() {
            for id in listener.unheard() {
                look(&mut waiting, &mut listener, &id)?;
            }
        }
        for (place, why) in listener.say_now() {
            say(&place, &why);
        }
    }
    waiting.finish()
}

/// Looks whether it has come for this job, and listens for news if it has not.
fn look(waiting: &mut Waiting, listener: &mut Listener, id: &JobId) -> Result<(), Error> {
    loop {
        let (presence, state) = presence::meet(&waiting.outlive, id)?;
        let Some(wanted) = waiting.look(id, &state)? else {
            listener.forget(id);
            return Ok(());
        };
        let mut next = listener.want(id, &presence, wanted)?;
        if next == Next::Connect {
            let connection = listening::connect_far(&waiting.outlive, id);
            next = listener.connected(id, wanted, connection)?;
        }
        match next {
            Next::Sleep => return Ok(()),
            Next::NoRoom => {
                return Err(Error::TooFewFiles {
                    jobs: waiting.jobs(),
                    most: listener.most(),
                });
            }
            Next::ReadAgain | Next::Over | Next::Connect => {}
        }
    }
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
