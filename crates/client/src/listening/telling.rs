//! The events of some sessions, or of all, as they come.
//!
//! Each session whose jobs have news is looked at in turn, as `inbox` does it: claim, deliver, and leave the ack to the
//! reader. The claims are made for this process. They end with it, so what was not acknowledged is due again at once.

use super::{Rung, Wanted};
use crate::agent::AgentProcess;
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::{AgentReader, Delivery, EventId, Inbox, Selection};
use crate::jobs::whereabouts;
use crate::verbs::inbox::{LONGEST_UNREADABLE, take_known};
use crate::verbs::wait::LOOK_ELSEWHERE;
use outlive_core::{BootTime, JobId, Label, ProcRef};
use outlive_sys::process::{self, own};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Whose events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of every session.
    All,
    /// Those of these sessions.
    Sessions(Vec<Label>),
}

/// Takes events as they come. Nothing here waits.
#[derive(Debug)]
pub struct Telling {
    outlive: Outlive,
    scope: Scope,
    claim: Option<Duration>,
    reader: Option<AgentReader>,
    sessions: BTreeMap<Label, Known>,
    skips_shown: bool,
    /// The jobs that have begun to be wanted.
    new: Vec<JobId>,
    /// The events that were given to a caller that only looks.
    given: HashSet<EventId>,
}

/// What is known of the inbox of a session.
#[derive(Debug)]
struct Known {
    inbox: Inbox,
    /// It may hold something new.
    is_due: bool,
    /// The jobs that may have more to tell, and the last event that was read of each.
    running: BTreeMap<JobId, u64>,
    /// When it has to be looked at again, whatever happens.
    look_at: Option<BootTime>,
}

impl Telling {
    /// Begins with what waits now. A caller that [only looks](Outlive::only_looking) gets each event once and claims
    /// none.
    pub fn open(
        outlive: &Outlive,
        scope: Scope,
        claim: Option<Duration>,
    ) -> Result<Telling, Error> {
        let mut telling = Telling {
            outlive: outlive.clone(),
            reader: own_process()?.map(reader),
            sessions: BTreeMap::new(),
            skips_shown: false,
            new: Vec::new(),
            given: HashSet::new(),
            claim,
            scope,
        };
        telling.look_at_all()?;
        Ok(telling)
    }

    /// Leaves out ends that the session has just seen.
    #[must_use]
    pub fn skipping_shown(mut self, skips: bool) -> Telling {
        self.skips_shown = skips;
        self
    }

    /// Looks at every session of the scope, also at those that are new.
    fn look_at_all(&mut self) -> Result<(), Error> {
        let inboxes = match &self.scope {
            Scope::All => Inbox::all(&self.outlive)?,
            Scope::Sessions(sessions) => {
                let open = |session: &Label| Inbox::open(&self.outlive, session.clone());
                sessions.iter().map(open).collect::<Result<_, _>>()?
            }
        };
        for inbox in inboxes {
            self.watch(inbox);
        }
        self.sessions
            .values_mut()
            .for_each(|known| known.is_due = true);
        Ok(())
    }

    fn watch(&mut self, inbox: Inbox) {
        let session = inbox.session().clone();
        let inbox = match self.claim {
            Some(claim) => inbox.claiming_for(claim),
            None => inbox,
        };
        let inbox = match &self.reader {
            Some(reader) => inbox.for_agent(reader.clone()),
            None => inbox,
        };
        let known = self.sessions.entry(session).or_insert_with(|| Known {
            inbox,
            is_due: true,
            running: BTreeMap::new(),
            look_at: None,
        });
        known.is_due = true;
    }

    /// This job has news.
    pub fn heard(&mut self, id: &JobId) {
        for known in self.sessions.values_mut() {
            known.is_due |= known.running.contains_key(id);
        }
    }

    /// Something was started or posted.
    pub fn rung(&mut self, rung: &Rung) -> Result<(), Error> {
        let Rung::For(ids) = rung else {
            return self.look_at_all();
        };
        for id in ids {
            let Some(session) = self.session_of(id) else {
                continue;
            };
            let is_wanted = match &self.scope {
                Scope::All => true,
                Scope::Sessions(sessions) => sessions.contains(&session),
            };
            if is_wanted {
                let inbox = Inbox::open(&self.outlive, session)?;
                self.watch(inbox);
            }
        }
        Ok(())
    }

    /// The session of a job or post. Nothing if it was removed by now.
    fn session_of(&self, id: &JobId) -> Option<Label> {
        match self.outlive.read_spec(id) {
            Ok(spec) => spec.session,
            Err(_) => Some(self.outlive.home().post(id).read().ok()?.session),
        }
    }

    /// Takes the events of one session that may have some: at most this many. `None` if no session has.
    pub fn take(&mut self, most: usize) -> Result<Option<Delivery>, Error> {
        let now = clock::boot();
        let is_due = |known: &&mut Known| known.is_due || known.look_at.is_some_and(|at| at <= now);
        let Some(known) = self.sessions.values_mut().find(is_due) else {
            return Ok(None);
        };
        let selection = Selection {
            // Events that were given before stay in the inbox of a caller that only looks.
            limit: (!self.outlive.only_looks()).then_some(most),
            skip_shown: self.skips_shown,
        };
        let delivery = take_known(&known.inbox, selection)?;
        known.is_due = delivery.more() > 0;
        let running: BTreeMap<JobId, u64> = delivery.running().iter().cloned().collect();
        let new = running.keys().filter(|id| !known.running.contains_key(*id));
        self.new.extend(new.cloned());
        known.running = running;
        known.look_at = look_at(&delivery);
        let session = known.inbox.session().clone();
        if self.scope == Scope::All && known.is_empty() && delivery.is_empty() {
            self.sessions.remove(&session);
        }
        Ok(Some(match self.outlive.only_looks() {
            true => {
                let given = &mut self.given;
                delivery.only(|event| given.insert(event.event.clone()))
            }
            false => delivery,
        }))
    }

    /// The jobs of which news are wanted since the last call.
    pub fn new_jobs(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.new)
    }

    /// The news that are wanted of this job.
    pub fn wants(&self, id: &JobId) -> Option<Wanted> {
        let mut sessions = self.sessions.values();
        let seq = sessions.find_map(|known| known.running.get(id))?;
        Some(Wanted::events_after(*seq))
    }

    /// When to take again, if nothing is heard before.
    pub fn look_at(&self) -> Option<BootTime> {
        let times = self.sessions.values().map(|known| match known.is_due {
            true => Some(clock::boot()),
            false => known.look_at,
        });
        times.flatten().min()
    }
}

impl Known {
    /// Whether nothing of it has to be watched. A bell tells if that changes.
    fn is_empty(&self) -> bool {
        !self.is_due && self.running.is_empty() && self.look_at.is_none()
    }
}

/// When an inbox has to be looked at again, although nobody tells of it.
fn look_at(delivery: &Delivery) -> Option<BootTime> {
    let after = |pause| clock::boot() + pause;
    let unreadable = delivery
        .problems()
        .next()
        .map(|_| after(LONGEST_UNREADABLE));
    // An agent that ends makes due again what it was handed.
    let handed = delivery.handed_to().first().map(|_| after(LOOK_ELSEWHERE));
    let times = [delivery.lapses_at(), unreadable, handed];
    times.into_iter().flatten().min()
}

/// This process, as an agent for which events are claimed.
fn own_process() -> Result<Option<AgentProcess>, Error> {
    let pid = own::pid();
    let Some(stat) = process::stat(pid) else {
        return Ok(None);
    };
    let started = stat.started;
    Ok(Some(AgentProcess {
        process: ProcRef { pid, started },
        pid_namespace: whereabouts::here()?.host.pid_namespace,
    }))
}

fn reader(process: AgentProcess) -> AgentReader {
    AgentReader {
        process,
        sign: None,
        resumes: false,
        prompts: None,
    }
}
