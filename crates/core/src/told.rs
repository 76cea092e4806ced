//! Who has been told what: claim → deliver → ack, for every event of one job (or post).
//!
//! ```text
//!           ┌── lapsed ──┐
//!           ▼            │
//!  untold ─claim─► claimed ─ack─► told
//!                     └── after eight deliveries, or one that is two days old ──► dropped
//! ```
//! A claim is no delivery: whoever made it may have been killed before a word was out. That the words
//! are out is noted too, so that "ack what was delivered" means no more than that.
//!
//! An event that was never delivered is never dropped for its age: its session may be away for a weekend.
//! Dropping is itself told: whoever finds that an event is to be given up claims it once more, says so,
//! and only then writes down that it is dropped.
//!
//! The record is a file of lines that any number of consumers append to. Nobody locks it: each line is
//! one `write` at its end, so the file's own order decides. A claim counts if, by the lines before it,
//! nobody else held one when it was made; whoever claims reads the file again to see whether it does.
//! So a consumer that is killed or suspended anywhere keeps nobody else from going on.

use crate::event::Moment;
use crate::incarnation::Incarnation;
use crate::layout;
use crate::process::BootId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// How long and how often an event is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A claim that is not acked within this time lapses.
    pub claim_ms: u64,
    /// After it was delivered this often and never acked, the event is dropped.
    pub attempts: u32,
    /// An event that was delivered and not acked is dropped when it is older than this.
    pub keep_ms: u64,
}

/// How long a job is kept from pruning because its session has not been told of something. A session
/// that has not come for a month will not come.
pub const KEEP_UNTOLD_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// How long it counts that a session was shown an end. It should count for the turn in which that
/// happened, whose end nobody tells us; few turns are longer between two looks.
pub const SHOWN_MS: u64 = 5 * 60 * 1000;

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            claim_ms: 5 * 60 * 1000,
            attempts: 8,
            keep_ms: 48 * 60 * 60 * 1000,
        }
    }
}

/// Now, and in which boot: time since another boot's start means nothing here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    pub boot: BootId,
    #[serde(flatten)]
    pub at: Moment,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    #[serde(flatten)]
    pub when: When,
    /// The job it is about: an ack that comes late may end up in the file of the next job of that id,
    /// where it does not count. The first release wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Incarnation>,
    /// Events, by their numbers in the journal; none where it is all there are and will be.
    pub seqs: Vec<u64>,
    pub note: Note,
}

/// What became of some events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// This consumer will deliver them, and has so long to ack. The first release said besides that those
    /// which were claimed `most` times before are not its.
    Claimed {
        by: String,
        for_ms: u64,
        #[serde(default = "u32::max_value", skip_serializing_if = "is_any")]
        most: u32,
    },
    /// The words are out, and not acked.
    Delivered,
    /// Whoever was to hear of them has.
    Told { how: How },
    /// Nobody will be told any more.
    Dropped { why: Why },
    /// The session has just seen them by the way, which does not count as having been told.
    Shown,
}

fn is_any(most: &u32) -> bool {
    *most == u32::MAX
}

/// How somebody came to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Delivered through the inbox and acked.
    Inbox,
    /// Waited for.
    Wait,
    /// The whole of the output was read after the end.
    Log,
    /// The answer to a request of its own.
    Asked,
}

/// Why an event was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It was claimed too often and never acked.
    Attempts,
    /// It was too old.
    Age,
    /// Its session was ended.
    Session,
}

/// What became of the events of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    events: BTreeMap<u64, Delivery>,
    /// Nobody will come for any of it.
    closed: bool,
}

/// What became of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// How often it was claimed.
    pub attempts: u32,
    pub claim: Option<Claim>,
    /// How often it was given to somebody who was to ack it.
    pub deliveries: u32,
    pub settled: Option<Settled>,
    /// When its session last saw it by the way.
    shown: Option<When>,
}

/// A claim that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub by: String,
    boot: BootId,
    /// In milliseconds since that boot.
    pub until: u64,
}

/// That nothing more is to be done about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Told(How),
    Dropped(Why),
}

/// Whether an event may be claimed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Now,
    /// Somebody has it until then, in milliseconds since this boot.
    Held {
        until: u64,
    },
    /// It is to be dropped.
    GiveUp(Why),
    Settled,
}

impl Claim {
    fn holds(&self, when: &When) -> bool {
        self.boot == when.boot && when.at.boot_ms < self.until
    }
}

impl Told {
    /// What the lines about this job say.
    pub fn parse(bytes: &[u8], of: Option<&Incarnation>) -> Told {
        let mut told = Told::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            // A line torn by a full disk, or of a newer program, is passed over: at worst an event is
            // delivered again.
            if let Ok(line) = serde_json::from_slice::<Line>(line)
                && (line.of.is_none() || line.of.as_ref() == of)
            {
                told.apply(&line);
            }
        }
        told
    }

    /// Nothing, where there is no file yet.
    pub fn read(path: &Path, of: Option<&Incarnation>) -> io::Result<Told> {
        match layout::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Told::default()),
            other => other.map(|bytes| Told::parse(&bytes, of)),
        }
    }

    /// Takes one line into account.
    pub fn apply(&mut self, line: &Line) {
        if line.seqs.is_empty() && matches!(line.note, Note::Dropped { .. }) {
            self.closed = true;
        }
        for seq in &line.seqs {
            let delivery = self.events.entry(*seq).or_default();
            match &line.note {
                Note::Claimed { by, for_ms, most } if delivery.attempts < *most => {
                    delivery.claim(by, *for_ms, &line.when);
                }
                Note::Claimed { .. } => {}
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

    /// Whether nobody will come for anything of it.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn is_settled(&self, seq: u64) -> bool {
        self.closed
            || self
                .of(seq)
                .is_some_and(|delivery| delivery.settled.is_some())
    }

    /// Who holds a claim on an event now.
    pub fn holder(&self, seq: u64, when: &When) -> Option<&str> {
        let delivery = self.of(seq)?;
        let claim = delivery.claim.as_ref().filter(|claim| claim.holds(when))?;
        delivery.settled.is_none().then_some(&claim.by)
    }

    /// Whether the event that happened then may be claimed now.
    pub fn due(&self, seq: u64, happened: &When, when: &When, rules: &Rules) -> Due {
        let default = Delivery::default();
        let delivery = self.of(seq).unwrap_or(&default);
        let held = delivery.claim.as_ref().filter(|claim| claim.holds(when));
        match (delivery.settled, held) {
            _ if self.closed => Due::Settled,
            (Some(_), _) => Due::Settled,
            (None, Some(claim)) => Due::Held { until: claim.until },
            (None, None) if delivery.deliveries >= rules.attempts => Due::GiveUp(Why::Attempts),
            (None, None) if delivery.deliveries > 0 && age_ms(happened, when) > rules.keep_ms => {
                Due::GiveUp(Why::Age)
            }
            (None, None) => Due::Now,
        }
    }

    /// Whether its session saw this a moment ago, by the way.
    pub fn was_just_shown(&self, seq: u64, when: &When) -> bool {
        let shown = self.of(seq).and_then(|delivery| delivery.shown.as_ref());
        shown.is_some_and(|shown| age_ms(shown, when) <= SHOWN_MS)
    }

    /// Whether a session may still come for an event, so that its job must stay.
    pub fn is_awaited(&self, seq: u64, happened: &When, when: &When, rules: &Rules) -> bool {
        !self.is_settled(seq) && age_ms(happened, when) <= rules.keep_ms.max(KEEP_UNTOLD_MS)
    }
}

/// How long ago something happened; only across a restart does the wall clock decide.
pub fn age_ms(happened: &When, now: &When) -> u64 {
    match happened.boot == now.boot {
        true => now.at.boot_ms.saturating_sub(happened.at.boot_ms),
        false => now.at.wall_ms.saturating_sub(happened.at.wall_ms),
    }
}

impl Delivery {
    fn claim(&mut self, by: &str, for_ms: u64, when: &When) {
        let held = self.claim.as_ref().is_some_and(|claim| claim.holds(when));
        if self.settled.is_none() && !held {
            self.attempts += 1;
            self.claim = Some(Claim {
                by: by.to_owned(),
                boot: when.boot.clone(),
                until: when.at.boot_ms.saturating_add(for_ms),
            });
        }
    }

    /// The first word stands.
    fn settle(&mut self, settled: Settled) {
        self.settled.get_or_insert(settled);
    }
}

/// Whether a line must survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// Lost, it only means that something is delivered again.
    No,
    Yes,
}

/// Appends a line.
pub fn append(path: &Path, line: &Line, durable: Durable) -> io::Result<()> {
    let mut file = layout::open_to_append(path)?;
    // It begins with a newline too, so that a line torn by a full disk spoils only itself.
    let mut bytes = vec![b'\n'];
    serde_json::to_writer(&mut bytes, line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)?;
    match durable {
        Durable::No => Ok(()),
        // The file may have been made just now, by a claim that needed not last.
        Durable::Yes => {
            layout::sync(&file).and_then(|()| path.parent().map_or(Ok(()), layout::sync_directory))
        }
    }
}

#[cfg(test)]
mod tests;
