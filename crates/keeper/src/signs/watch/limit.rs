//! How often matches are reported, and when a watch turns itself off.
//!
//! ```text
//!            match: reported at once              no match: strikes reset
//!   Idle ───────────────────────▶ Spacing ──────────────────────────────────────▶ Idle
//!                                  │  ▲ │
//!                  match: counted ─┘  │ └── matches: a strike ──▶ their number is reported, or with
//!                                     └────────────────────────── the last strike: Off
//! ```
//!
//! After a report, nothing is reported for one spacing. Matches are counted meanwhile, and when the spacing is over,
//! their number is reported with the last line. A spacing with matches is busy. After a number of busy ones in a row
//! the watch turns itself off. A watch with a limit ends after that many matches, and reports all of them.
//!
//! This module reads no clock: every function gets the time. The state is a small value that is journaled, so that
//! another keeper can continue with it.

use outlive_core::watch::{Match, keep_line};
use outlive_core::{BootTime, Millis, Watch};
use serde::{Deserialize, Serialize};

/// The limiter of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    rules: Rules,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    spacing: Millis,
    strikes: u32,
    limit: Option<u64>,
}

/// All that a successor must know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number of matches so far.
    pub seen: u64,
    /// The number of busy spacings in a row.
    pub strikes: u32,
    pub phase: Phase,
}

/// What a watch is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The next match is reported at once.
    #[default]
    Idle,
    /// Something was reported less than one spacing ago. Matches are counted until the spacing is over.
    Spacing {
        /// When the spacing is over.
        #[serde(rename = "until_ms")]
        until: BootTime,
        /// The matches since the report, if there are any. They are reported when the spacing is over.
        waiting: Option<Waiting>,
    },
    /// The watch has turned itself off because there were too many matches.
    Off,
    /// The limit is reached and everything is reported.
    Over,
}

/// Matches that are counted and not reported yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// At least one.
    pub count: u64,
    pub last: Match,
    /// The newest of them. A predecessor of the first release did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// This many matches since the last event, and the last of them.
    Matched {
        count: u64,
        last: Match,
        /// The newest lines, if there is more than one.
        lines: Vec<String>,
        /// These are the last matches that are reported: the limit is reached.
        over: bool,
    },
    /// The watch has turned itself off. This many matches were counted and are not reported.
    Disabled { untold: u64 },
}

impl Waiting {
    /// A single match needs no list.
    fn one_more(before: Option<Waiting>, last: Match) -> Waiting {
        let Some(before) = before else {
            let (count, lines) = (1, Vec::new());
            return Waiting { count, last, lines };
        };
        let mut lines = before.lines;
        if lines.is_empty() {
            keep_line(&mut lines, &before.last.text);
        }
        keep_line(&mut lines, &last.text);
        Waiting {
            count: before.count + 1,
            last,
            lines,
        }
    }

    fn told(self, over: bool) -> Event {
        Event::Matched {
            count: self.count,
            lines: self.lines,
            last: self.last,
            over,
        }
    }
}

impl State {
    /// The state of a watch that begins anew, after this many matches in output from before.
    pub fn begin(watch: &Watch, seen: u64) -> State {
        let is_reached = watch.limit.is_some_and(|limit| seen >= limit);
        State {
            seen,
            strikes: 0,
            phase: match is_reached {
                true => Phase::Over,
                false => Phase::Idle,
            },
        }
    }

    /// Nothing more will be reported, so the output need not be scanned any more.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Off | Phase::Over)
    }
}

impl Limit {
    pub fn new(watch: &Watch) -> Limit {
        Limit::resume(watch, State::default())
    }

    /// Continues from another keeper's state, in the same boot.
    pub fn resume(watch: &Watch, state: State) -> Limit {
        Limit {
            rules: Rules {
                spacing: Millis(watch.spacing_ms),
                strikes: watch.strikes,
                limit: watch.limit,
            },
            state,
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether more matches are wanted. If not, the output need not be scanned any more.
    pub fn wants_more(&self) -> bool {
        !matches!(self.state.phase, Phase::Off | Phase::Over) && !self.is_reached()
    }

    /// When [`Limit::tick`] is to be called, at the latest.
    pub fn due_at(&self) -> Option<BootTime> {
        match &self.state.phase {
            Phase::Spacing {
                until,
                waiting: Some(_),
            } => Some(*until),
            _ => None,
        }
    }

    /// Handles a match. It is ignored if no more matches are wanted.
    pub fn matched(&mut self, now: BootTime, found: impl FnOnce() -> Match) -> Option<Event> {
        let told = self.tick(now);
        if !self.wants_more() {
            return told;
        }
        self.state.seen += 1;
        match &mut self.state.phase {
            Phase::Spacing { waiting, .. } => {
                let before = waiting.take();
                *waiting = Some(Waiting::one_more(before, found()));
                told
            }
            // The watch was idle, or its spacing has just ended without matches. In both cases nothing was reported
            // just now.
            _ => Some(self.tell(now, Waiting::one_more(None, found()))),
        }
    }

    /// Returns a report that has become due.
    pub fn tick(&mut self, now: BootTime) -> Option<Event> {
        let Phase::Spacing { until, waiting } = &mut self.state.phase else {
            return None;
        };
        if now < *until {
            return None;
        }
        let Some(matches) = waiting.take() else {
            self.state.strikes = 0;
            self.state.phase = Phase::Idle;
            return None;
        };
        self.state.strikes += 1;
        // If the limit is reached, the watch ends anyway, so the matches are reported.
        if self.state.strikes == self.rules.strikes && !self.is_reached() {
            self.state.phase = Phase::Off;
            return Some(Event::Disabled {
                untold: matches.count,
            });
        }
        Some(self.tell(now, matches))
    }

    /// The output has ended: returns what is not reported yet, however recent the last report is.
    pub fn finish(&mut self) -> Option<Event> {
        let phase = std::mem::replace(&mut self.state.phase, Phase::Over);
        match phase {
            Phase::Spacing { waiting, .. } => {
                waiting.map(|matches| matches.told(self.is_reached()))
            }
            Phase::Off => {
                self.state.phase = Phase::Off;
                None
            }
            Phase::Idle | Phase::Over => None,
        }
    }

    fn tell(&mut self, now: BootTime, matches: Waiting) -> Event {
        let over = self.is_reached();
        self.state.phase = match over {
            true => Phase::Over,
            false => Phase::Spacing {
                until: now + self.rules.spacing,
                waiting: None,
            },
        };
        matches.told(over)
    }

    fn is_reached(&self) -> bool {
        self.rules
            .limit
            .is_some_and(|limit| self.state.seen >= limit)
    }
}

#[cfg(test)]
mod tests;
