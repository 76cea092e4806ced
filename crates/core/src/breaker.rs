//! The circuit breaker for all jobs of a session: many watches together must not flood the agent.
//!
//! No process decides this centrally. A keeper that wants to tell a match appends an [`Entry`] to a
//! list that the session's jobs share. It then reads the list, or the new part of it, and computes the
//! [`Verdict`]. Every reader computes the same verdict, and later entries never change it.
//!
//! ```text
//!            fewer than `most` in the window: Admitted
//!            ┌──┐
//!            ▼  │        one more: Trips
//!           Flowing ───────────────────────▶ Silent ──┐ within the silence: Silenced
//!              ▲                               │  ▲   │
//!              └───── after it: Resumes ───────┘  └───┘
//! ```
//!
//! Readers skip entries from another boot, since their times mean nothing here. When a keeper dies
//! before it knows its verdict, its heir repeats the entry; only the first one counts. Keepers read the
//! clock before they append, so times in the list may go back a little. An earlier time is replaced by
//! the latest one so far.

use crate::clocks::BootTime;
use crate::defaults::{self, milliseconds};
use crate::id::JobId;
use crate::process::BootId;
use outlive_api::time::Millis;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The list's file name inside a session's inbox. No job id begins with a dot.
pub const LIST: &str = ".matches";

/// The limits of the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerRules {
    /// The number of matches admitted in any window.
    pub most: usize,
    pub window_ms: u64,
    /// How long nothing is told after one match too many.
    pub silence_ms: u64,
}

impl Default for BreakerRules {
    fn default() -> BreakerRules {
        BreakerRules {
            most: defaults::BREAKER_MATCHES as usize,
            window_ms: milliseconds(defaults::BREAKER_WINDOW),
            silence_ms: milliseconds(defaults::BREAKER_SILENCE),
        }
    }
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub boot: BootId,
    #[serde(rename = "at_ms")]
    pub at: BootTime,
    pub job: JobId,
    /// Counts the job's entries: 1, 2, 3, …
    pub seq: u64,
    pub wish: Wish,
    /// The number of matches to tell; 0 if the keeper only wants to report the end of the silence.
    #[serde(default)]
    pub matches: u64,
}

/// What a keeper asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// To tell of a match.
    Match,
    /// To report that the silence is over, without a match to tell.
    Resumed,
}

/// The answer to a keeper's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Tell the match.
    Admitted,
    /// One match too many: tell that the silence begins, instead of the match.
    Trips,
    /// Count the match, but do not tell it.
    Silenced,
    /// The silence is over. Tell that and the number of silenced matches, including the one too many,
    /// and then the keeper's own match, if any.
    Resumes { silenced: u64 },
    /// Tell nothing: there is no silence, or it is not over, or another keeper reported its end first.
    Idle,
}

/// The state of the breaker after the entries read so far.
#[derive(Clone, Debug)]
pub struct Breaker {
    rules: BreakerRules,
    /// The latest time so far.
    now: BootTime,
    /// The number of the newest entry of each job.
    newest: BTreeMap<JobId, u64>,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    /// When matches were admitted, within the last window.
    Flowing(VecDeque<BootTime>),
    Silent {
        until: BootTime,
        silenced: u64,
    },
}

impl Entry {
    /// The bytes to append in one write. The leading newline limits the damage of a line cut short by a
    /// full disk to that line.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("an entry is plain text and numbers");
        format!("\n{json}\n").into_bytes()
    }
}

impl Breaker {
    pub fn new(rules: BreakerRules) -> Breaker {
        Breaker {
            rules,
            now: BootTime::default(),
            newest: BTreeMap::new(),
            phase: Phase::Flowing(VecDeque::new()),
        }
    }

    /// Reads a whole list, or what was appended since. Calls `tell` with the verdict on each new entry.
    pub fn take(&mut self, list: &[u8], boot: &BootId, mut tell: impl FnMut(Entry, Verdict)) {
        for (_, entry) in entries(list, boot) {
            if let Some(verdict) = self.apply(&entry) {
                tell(entry, verdict);
            }
        }
    }

    /// Applies the next entry. Returns `None` if it was applied before.
    pub fn apply(&mut self, entry: &Entry) -> Option<Verdict> {
        let newest = self.newest.entry(entry.job.clone()).or_default();
        if entry.seq <= *newest {
            return None;
        }
        *newest = entry.seq;
        self.now = self.now.max(entry.at);
        Some(match entry.wish {
            Wish::Match => self.take_match(entry.matches),
            Wish::Resumed => self.take_resumed(),
        })
    }

    /// When the silence ends, if there is one. From then on a keeper may report its end.
    pub fn silent_until(&self) -> Option<BootTime> {
        match self.phase {
            Phase::Flowing(_) => None,
            Phase::Silent { until, .. } => Some(until),
        }
    }

    fn take_match(&mut self, matches: u64) -> Verdict {
        let now = self.now;
        self.forget_before(now);
        match &mut self.phase {
            Phase::Flowing(admitted) if admitted.len() < self.rules.most => {
                admitted.push_back(now);
                Verdict::Admitted
            }
            Phase::Flowing(_) => {
                self.phase = Phase::Silent {
                    until: now + Millis(self.rules.silence_ms),
                    silenced: matches,
                };
                Verdict::Trips
            }
            Phase::Silent { until, silenced } if now < *until => {
                *silenced = silenced.saturating_add(matches);
                Verdict::Silenced
            }
            Phase::Silent { silenced, .. } => {
                let silenced = *silenced;
                self.phase = Phase::Flowing(VecDeque::from([now]));
                Verdict::Resumes { silenced }
            }
        }
    }

    fn take_resumed(&mut self) -> Verdict {
        match self.phase {
            Phase::Silent { until, silenced } if self.now >= until => {
                self.phase = Phase::Flowing(VecDeque::new());
                Verdict::Resumes { silenced }
            }
            _ => Verdict::Idle,
        }
    }

    /// Forgets matches that were admitted more than a window ago.
    fn forget_before(&mut self, now: BootTime) {
        let window = Duration::from_millis(self.rules.window_ms);
        if let Phase::Flowing(admitted) = &mut self.phase {
            while admitted.front().is_some_and(|at| now.since(*at) >= window) {
                admitted.pop_front();
            }
        }
    }

    /// Whether an entry at this time would meet the breaker in its initial state.
    fn is_fresh_at(&self, at: BootTime) -> bool {
        let window = Duration::from_millis(self.rules.window_ms);
        match &self.phase {
            Phase::Flowing(admitted) => {
                at >= self.now && admitted.back().is_none_or(|last| at.since(*last) >= window)
            }
            Phase::Silent { .. } => false,
        }
    }
}

/// How many bytes at the start of the list can be removed without changing the verdict on any later
/// entry. The caller must prevent others from appending while it removes them.
pub fn trimmed(list: &[u8], boot: &BootId, rules: BreakerRules, now: BootTime) -> usize {
    let mut breaker = Breaker::new(rules);
    // The offsets where the list may be cut. Never cut between an entry and its repeat: the repeat
    // would then count.
    let mut cuts = Vec::new();
    let mut repeated = Vec::new();
    let mut offsets: BTreeMap<JobId, usize> = BTreeMap::new();
    for (at, entry) in entries(list, boot) {
        if breaker.is_fresh_at(entry.at) {
            cuts.push(at);
        }
        match (breaker.apply(&entry), offsets.get(&entry.job)) {
            (None, Some(first)) => repeated.push(first + 1..=at),
            (None, None) => {}
            (Some(_), _) => drop(offsets.insert(entry.job, at)),
        }
    }
    // A slow keeper may still append an entry with a slightly earlier time.
    let soonest = now - Duration::from_millis(rules.silence_ms);
    if breaker.is_fresh_at(soonest) {
        cuts.push(list.len());
    }
    let is_between = |cut: &usize| repeated.iter().any(|span| span.contains(cut));
    cuts.into_iter().rfind(|cut| !is_between(cut)).unwrap_or(0)
}

/// The entries of this boot with the offsets of their lines. Other lines are skipped.
fn entries<'a>(list: &'a [u8], boot: &'a BootId) -> impl Iterator<Item = (usize, Entry)> + 'a {
    let mut at = 0;
    list.split_inclusive(|byte| *byte == b'\n')
        .filter_map(move |line| {
            let begin = at;
            at += line.len();
            let entry: Entry = serde_json::from_slice(line).ok()?;
            (entry.boot == *boot).then_some((begin, entry))
        })
}

#[cfg(test)]
mod tests;
