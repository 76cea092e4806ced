//! Records who was told what: claim, deliver and ack, for every event of one job or post.
//!
//! ```text
//!           ┌── lapsed ──┐
//!           ▼            │
//!  untold ─claim─► claimed ─ack─► told
//!                     │ └── after 8 deliveries, or delivered and 2 days old ──► dropped
//!                     └─hand─► handed ─sign of life─► told
//!                                 └── the agent dies, resumes, or leaves the conversation ──► untold
//! ```
//!
//! A hook prints for an agent, and cannot see whether the agent's model reads it. So it only hands the
//! events over. They count as told when the agent does something later that shows it ([`Sign`]). If the
//! agent's process ends before that, they are due again.
//!
//! A claim is not a delivery: the process that claimed an event can be killed before it prints
//! anything. So a delivery gets a line of its own, and acking "what was delivered" covers nothing else.
//!
//! An event that was never delivered is never dropped because of its age: its session may be away for a
//! weekend. The drop itself is reported. A process that finds an event to be dropped claims it once
//! more, reports the drop, and only then records it.
//!
//! The record is a file of lines that any number of consumers append to, without a lock. Each line is
//! one `write` to the end of the file, so the order in the file decides. A claim counts if no other
//! consumer held a valid claim before that line. After appending a claim, a consumer reads the file
//! again to see whether its claim counts. A consumer that is killed or suspended never blocks others.

use crate::clocks::BootTime;
use crate::defaults;
use crate::event::Moment;
use crate::incarnation::Incarnation;
use crate::layout;
use crate::process::BootId;
pub use crate::reader::{AgentProcess, Handed, HandedWith, Sign};
use outlive_api::time::Millis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// How long a claim lasts, and how often an event is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A claim expires if it is not acked within this time.
    pub claim: Duration,
    /// The event is dropped after this many deliveries without an ack.
    pub attempts: u32,
    /// An event that was delivered but not acked is dropped when it is older than this.
    pub keep: Duration,
}

/// How long it counts that a session was shown an end. It should count until the agent's current turn
/// ends, but nobody reports that moment; five minutes is longer than the pause between two checks in
/// most turns.
pub const SHOWN: Duration = Duration::from_secs(5 * 60);

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            claim: defaults::INBOX_CLAIM,
            attempts: defaults::INBOX_ATTEMPTS,
            keep: defaults::INBOX_KEEP,
        }
    }
}

/// A moment together with its boot: time since boot means nothing in another boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootMoment {
    pub boot: BootId,
    #[serde(flatten)]
    pub at: Moment,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    #[serde(flatten)]
    pub when: BootMoment,
    /// The job that this line is about. A late ack may land in the file of a later job with the same
    /// id, where it must not count. The first release did not write this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Incarnation>,
    /// The sequence numbers of the events. An empty list with [`Note::Dropped`] means all events, also
    /// future ones.
    pub seqs: Vec<u64>,
    pub note: Note,
}

/// What happened to some events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// This consumer will deliver the events and has this long to ack. In the first release, a claim
    /// did not count for events that had been claimed `most` times before.
    Claimed {
        by: String,
        #[serde(rename = "for_ms")]
        length: Millis,
        #[serde(default = "u32::max_value", skip_serializing_if = "is_any")]
        most: u32,
        /// The agent that the consumer delivers to. The claim ends with this process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentProcess>,
        /// Agents that were handed the events and no longer have them: the claim counts nevertheless.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        instead_of: Vec<AgentProcess>,
    },
    /// The events were delivered but not acked.
    Delivered,
    /// The events were printed for an agent, which has not yet shown that it read them. Releases before
    /// this one skip the line: for them the claim expires.
    Handed { to: AgentProcess, with: HandedWith },
    /// The session knows of the events.
    Told { how: ToldBy },
    /// The events will never be told.
    Dropped { why: DropReason },
    /// The session saw the events in passing, which does not count as told.
    Shown,
}

fn is_any(most: &u32) -> bool {
    *most == u32::MAX
}

/// How the session learned of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    /// It was delivered through the inbox and acked.
    Inbox,
    /// Somebody waited for it.
    Wait,
    /// Somebody read the whole output after the end.
    Log,
    /// It was the answer to a request of the session itself.
    Asked,
}

pub use outlive_api::event::DropReason;

/// The delivery state of all events of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    events: BTreeMap<u64, Delivery>,
    /// The session was ended, so nobody will ask for any event.
    closed: bool,
}

/// The delivery state of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// How many claims counted.
    pub attempts: u32,
    pub claim: Option<Claim>,
    /// How often it was delivered to a consumer that must ack it.
    pub deliveries: u32,
    /// The agent that has it and has not yet shown that it read it.
    pub handed: Option<Handed>,
    pub settled: Option<Settled>,
    /// When it was settled, claimed or delivered last.
    pub since: Option<Moment>,
    /// When its session last saw it in passing.
    shown: Option<BootMoment>,
}

/// A claim that counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub by: String,
    boot: BootId,
    /// In milliseconds since that boot started.
    pub until: BootTime,
}

/// Tells whether an agent's process, of that boot, has ended.
pub type IsGone<'a> = &'a dyn Fn(&AgentProcess, &BootId) -> bool;

/// For a reader that believes that each agent that lives has what it was handed.
pub fn nobody_has_lost(_: &Handed) -> bool {
    false
}

/// For a reader to whom it makes no difference which agents live.
pub fn nobody_is_gone(_: &AgentProcess, _: &BootId) -> bool {
    false
}

/// The final state of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Told(ToldBy),
    Dropped(DropReason),
}

/// Whether an event may be claimed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Now,
    /// Another consumer has claimed it until then.
    Held {
        until: BootTime,
    },
    /// This agent has it and may have read it.
    Handed {
        to: AgentProcess,
    },
    /// It must be dropped.
    GiveUp(DropReason),
    Settled,
}

impl Claim {
    fn holds(&self, when: &BootMoment) -> bool {
        self.boot == when.boot && when.at.boot < self.until
    }
}

impl Told {
    /// Reads the lines about this job.
    pub fn parse(bytes: &[u8], of: Option<&Incarnation>, is_gone: IsGone<'_>) -> Told {
        let mut told = Told::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            // Skip a line that was cut short by a full disk or written by a newer version. At worst an
            // event is delivered again.
            if let Ok(line) = serde_json::from_slice::<Line>(line)
                && (line.of.is_none() || line.of.as_ref() == of)
            {
                told.apply(&line, is_gone);
            }
        }
        told
    }

    /// Reads the file; a missing file is an empty record.
    pub fn read(path: &Path, of: Option<&Incarnation>, is_gone: IsGone<'_>) -> io::Result<Told> {
        match layout::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Told::default()),
            other => other.map(|bytes| Told::parse(&bytes, of, is_gone)),
        }
    }

    /// Applies one line. What an agent has or claims counts only while its process lives.
    pub fn apply(&mut self, line: &Line, is_gone: IsGone<'_>) {
        if line.seqs.is_empty() && matches!(line.note, Note::Dropped { .. }) {
            self.closed = true;
        }
        for seq in &line.seqs {
            let delivery = self.events.entry(*seq).or_default();
            if delivery.settled.is_none() && !matches!(line.note, Note::Shown) {
                delivery.since = Some(line.when.at);
            }
            match &line.note {
                Note::Claimed { most, .. } if delivery.attempts < *most => {
                    delivery.claim(line, is_gone);
                }
                Note::Claimed { .. } => {}
                Note::Handed { to, with } => {
                    delivery.deliveries += 1;
                    delivery.claim = None;
                    delivery.handed = (!is_gone(to, &line.when.boot)).then(|| Handed {
                        to: *to,
                        with: *with,
                        when: line.when.clone(),
                    });
                }
                Note::Told { how } => delivery.settle(Settled::Told(*how)),
                Note::Dropped { why } => delivery.settle(Settled::Dropped(*why)),
                Note::Delivered => delivery.deliveries += 1,
                Note::Shown => delivery.shown = Some(line.when.clone()),
            }
        }
    }

    pub fn of(&self, seq: u64) -> Option<&Delivery> {
        self.events.get(&seq)
    }

    /// Whether the session was ended, so that nobody will ask for any event.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether any event was told or dropped.
    pub fn has_settled(&self) -> bool {
        let mut events = self.events.values();
        events.any(|delivery| delivery.settled.is_some())
    }

    pub fn is_settled(&self, seq: u64) -> bool {
        self.closed
            || self
                .of(seq)
                .is_some_and(|delivery| delivery.settled.is_some())
    }

    /// The consumer that holds a valid claim on the event now.
    pub fn holder(&self, seq: u64, when: &BootMoment) -> Option<&str> {
        let delivery = self.of(seq)?;
        let claim = delivery.claim.as_ref().filter(|claim| claim.holds(when))?;
        delivery.settled.is_none().then_some(&claim.by)
    }

    /// The agents that these events were handed to, each once.
    pub fn handed_to(&self, seqs: &[u64]) -> Vec<AgentProcess> {
        let mut agents = Vec::new();
        for seq in seqs {
            let handed = self.of(*seq).and_then(|delivery| delivery.handed.as_ref());
            agents.extend(
                handed
                    .map(|handed| handed.to)
                    .filter(|to| !agents.contains(to)),
            );
        }
        agents
    }

    /// The events that this sign shows to be read by the agent that they were handed to.
    pub fn read_by(&self, agent: &AgentProcess, sign: &Sign) -> Vec<u64> {
        let is_read = |delivery: &Delivery| {
            let handed = delivery.handed.as_ref();
            delivery.settled.is_none() && handed.is_some_and(|handed| handed.is_read(agent, sign))
        };
        let events = self.events.iter();
        let read = events.filter(|(_, delivery)| is_read(delivery));
        read.map(|(seq, _)| *seq).collect()
    }

    /// Whether an event from the moment `happened` may be claimed now. `has_lost` tells whether an agent that
    /// lives no longer has what it was handed, so that it is due again.
    pub fn due(
        &self,
        seq: u64,
        happened: &BootMoment,
        when: &BootMoment,
        rules: &Rules,
        has_lost: &dyn Fn(&Handed) -> bool,
    ) -> Due {
        let default = Delivery::default();
        let delivery = self.of(seq).unwrap_or(&default);
        let held = delivery.claim.as_ref().filter(|claim| claim.holds(when));
        let handed = delivery.handed.as_ref();
        match (delivery.settled, held) {
            _ if self.closed => Due::Settled,
            (Some(_), _) => Due::Settled,
            (None, Some(claim)) => Due::Held { until: claim.until },
            (None, None) if let Some(handed) = handed.filter(|handed| !has_lost(handed)) => {
                Due::Handed { to: handed.to }
            }
            (None, None) if delivery.deliveries >= rules.attempts => {
                Due::GiveUp(DropReason::Attempts)
            }
            (None, None) if delivery.deliveries > 0 && age(happened, when) > rules.keep => {
                Due::GiveUp(DropReason::Age)
            }
            (None, None) => Due::Now,
        }
    }

    /// Whether the session saw this event in passing less than [`SHOWN`] ago.
    pub fn was_just_shown(&self, seq: u64, when: &BootMoment) -> bool {
        let shown = self.of(seq).and_then(|delivery| delivery.shown.as_ref());
        shown.is_some_and(|shown| age(shown, when) <= SHOWN)
    }

    /// Whether a session may still ask for this event, so that its job must not be pruned.
    pub fn is_awaited(
        &self,
        seq: u64,
        happened: &BootMoment,
        when: &BootMoment,
        rules: &Rules,
    ) -> bool {
        !self.is_settled(seq) && age(happened, when) <= rules.keep.max(defaults::KEEP_UNTOLD)
    }
}

/// How long ago something happened. Uses the wall clock only across a restart.
pub fn age(happened: &BootMoment, now: &BootMoment) -> Duration {
    match happened.boot == now.boot {
        true => now.at.boot.since(happened.at.boot),
        false => now.at.wall.since(happened.at.wall),
    }
}

impl Delivery {
    fn claim(&mut self, line: &Line, is_gone: IsGone<'_>) {
        let Note::Claimed {
            by,
            length,
            agent,
            instead_of,
            ..
        } = &line.note
        else {
            return;
        };
        let when = &line.when;
        let is_claimed = self.claim.as_ref().is_some_and(|claim| claim.holds(when));
        let handed = self.handed.as_ref();
        let is_handed = handed.is_some_and(|handed| !instead_of.contains(&handed.to));
        if self.settled.is_some() || is_claimed || is_handed {
            return;
        }
        let has_died = agent.is_some_and(|agent| is_gone(&agent, &when.boot));
        self.attempts += 1;
        self.handed = None;
        self.claim = (!has_died).then(|| Claim {
            by: by.to_owned(),
            boot: when.boot.clone(),
            until: when.at.boot + *length,
        });
    }

    /// The first final state wins.
    fn settle(&mut self, settled: Settled) {
        self.settled.get_or_insert(settled);
    }
}

/// Whether a line must survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// No: if the line is lost, an event is delivered again.
    No,
    Yes,
}

/// Appends a line to the file.
pub fn append(path: &Path, line: &Line, durable: Durable) -> io::Result<()> {
    let mut file = layout::open_to_append(path)?;
    // The leading newline limits the damage of a line cut short by a full disk to that line.
    let mut bytes = vec![b'\n'];
    serde_json::to_writer(&mut bytes, line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)?;
    match durable {
        Durable::No => Ok(()),
        // The file may be new, created by a claim that was not synced.
        Durable::Yes => {
            layout::sync(&file).and_then(|()| path.parent().map_or(Ok(()), layout::sync_directory))
        }
    }
}

#[cfg(test)]
mod tests;
