//! The breaker across the jobs of a session: many watches together are not to flood who is told.
//!
//! There is no process to decide this. Each keeper that wants to tell of a match appends an [`Entry`]
//! to a list the session's jobs share, then folds the list, or what is new in it, to learn the
//! [`Verdict`]. Who folds makes no difference, and what is appended later changes no verdict given.
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
//! Entries of another boot are passed over, since their moments mean nothing here. So are entries
//! repeated by the heir of a keeper that died before it knew its verdict: the first one counts.
//! Keepers read the clock before they append, so moments may go back a little in the list; a moment
//! before an earlier entry's is taken as that one's.

use crate::id::JobId;
use crate::process::BootId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The list's name inside a session's inbox. No source's id begins like this.
pub const LIST: &str = ".matches";

/// How much is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerRules {
    /// Matches admitted in any window.
    pub most: usize,
    pub window_ms: u64,
    /// How long nothing is told once there was one more.
    pub silence_ms: u64,
}

impl Default for BreakerRules {
    fn default() -> BreakerRules {
        BreakerRules {
            most: 15,
            window_ms: 10_000,
            silence_ms: 30_000,
        }
    }
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub boot: BootId,
    /// Milliseconds since boot.
    pub at_ms: u64,
    pub job: JobId,
    /// Counts the job's entries: 1, 2, 3, …
    pub seq: u64,
    pub wish: Wish,
    /// How many matches it is to tell of; none where it has only to say that the silence is over.
    #[serde(default)]
    pub matches: u64,
}

/// What a keeper wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// To tell of a match.
    Match,
    /// To say that the silence is over, with no match to tell of.
    Resumed,
}

/// What becomes of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The match is told.
    Admitted,
    /// It is one too many: the keeper tells that there is silence from now on, instead.
    Trips,
    /// It is counted, and not told.
    Silenced,
    /// The silence is over: the keeper tells that, with how many matches were silenced, the one too many
    /// among them, and then of its own if it has any.
    Resumes { silenced: u64 },
    /// Nothing is to be told: there is no silence, or it is not over, or another keeper was first.
    Idle,
}

/// The fold of a list.
#[derive(Clone, Debug)]
pub struct Breaker {
    rules: BreakerRules,
    /// The latest moment so far.
    now_ms: u64,
    /// The newest entry of each job.
    newest: BTreeMap<JobId, u64>,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    /// When matches were admitted, as far back as it matters.
    Flowing(VecDeque<u64>),
    Silent {
        until_ms: u64,
        silenced: u64,
    },
}

impl Entry {
    /// As it is appended, in one write. It begins with a newline too, so that a line torn by a full
    /// disk spoils only itself.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("an entry is plain text and numbers");
        format!("\n{json}\n").into_bytes()
    }
}

impl Breaker {
    pub fn new(rules: BreakerRules) -> Breaker {
        Breaker {
            rules,
            now_ms: 0,
            newest: BTreeMap::new(),
            phase: Phase::Flowing(VecDeque::new()),
        }
    }

    /// Takes all of a list, or what has been appended to it; says what becomes of each wish that had not
    /// been taken before.
    pub fn take(&mut self, list: &[u8], boot: &BootId, mut tell: impl FnMut(Entry, Verdict)) {
        for (_, entry) in entries(list, boot) {
            if let Some(verdict) = self.apply(&entry) {
                tell(entry, verdict);
            }
        }
    }

    /// Takes the next entry; `None` if it had been taken before.
    pub fn apply(&mut self, entry: &Entry) -> Option<Verdict> {
        let newest = self.newest.entry(entry.job.clone()).or_default();
        if entry.seq <= *newest {
            return None;
        }
        *newest = entry.seq;
        self.now_ms = self.now_ms.max(entry.at_ms);
        Some(match entry.wish {
            Wish::Match => self.take_match(entry.matches),
            Wish::Resumed => self.take_resumed(),
        })
    }

    /// When the silence ends, if there is one: then a keeper may append that it is over.
    pub fn silent_until(&self) -> Option<u64> {
        match self.phase {
            Phase::Flowing(_) => None,
            Phase::Silent { until_ms, .. } => Some(until_ms),
        }
    }

    fn take_match(&mut self, matches: u64) -> Verdict {
        let now = self.now_ms;
        self.forget_before(now);
        match &mut self.phase {
            Phase::Flowing(admitted) if admitted.len() < self.rules.most => {
                admitted.push_back(now);
                Verdict::Admitted
            }
            Phase::Flowing(_) => {
                self.phase = Phase::Silent {
                    until_ms: now.saturating_add(self.rules.silence_ms),
                    silenced: matches,
                };
                Verdict::Trips
            }
            Phase::Silent { until_ms, silenced } if now < *until_ms => {
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
            Phase::Silent { until_ms, silenced } if self.now_ms >= until_ms => {
                self.phase = Phase::Flowing(VecDeque::new());
                Verdict::Resumes { silenced }
            }
            _ => Verdict::Idle,
        }
    }

    /// Lets go of what was admitted more than a window ago.
    fn forget_before(&mut self, now: u64) {
        if let Phase::Flowing(admitted) = &mut self.phase {
            while admitted
                .front()
                .is_some_and(|at| now - at >= self.rules.window_ms)
            {
                admitted.pop_front();
            }
        }
    }

    /// Whether an entry of this moment would find the breaker as it was at first.
    fn is_fresh_at(&self, at_ms: u64) -> bool {
        match &self.phase {
            Phase::Flowing(admitted) => {
                at_ms >= self.now_ms
                    && admitted
                        .back()
                        .is_none_or(|last| at_ms - last >= self.rules.window_ms)
            }
            Phase::Silent { .. } => false,
        }
    }
}

/// How many bytes at the front of a list no longer matter: without them every later entry, in the list
/// or still to come, has the same verdict. Whoever takes them away must keep others from appending
/// meanwhile.
pub fn trimmed(list: &[u8], boot: &BootId, rules: BreakerRules, now_ms: u64) -> usize {
    let mut breaker = Breaker::new(rules);
    // Where it may be cut, but not between an entry and its repetition, which would then count.
    let mut cuts = Vec::new();
    let mut repeated = Vec::new();
    let mut places: BTreeMap<JobId, usize> = BTreeMap::new();
    for (at, entry) in entries(list, boot) {
        if breaker.is_fresh_at(entry.at_ms) {
            cuts.push(at);
        }
        match (breaker.apply(&entry), places.get(&entry.job)) {
            (None, Some(first)) => repeated.push(first + 1..=at),
            (None, None) => {}
            (Some(_), _) => drop(places.insert(entry.job, at)),
        }
    }
    // An entry to come may have been dated a while ago by a keeper that was slow to append it.
    let soonest = now_ms.saturating_sub(rules.silence_ms);
    if breaker.is_fresh_at(soonest) {
        cuts.push(list.len());
    }
    let is_between = |cut: &usize| repeated.iter().any(|span| span.contains(cut));
    cuts.into_iter().rfind(|cut| !is_between(cut)).unwrap_or(0)
}

/// The entries of this boot and where their lines begin; what is no entry is passed over.
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
