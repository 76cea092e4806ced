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

use outlive_core::watch::Match;
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

/// All that must be remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Matches in all.
    pub seen: u64,
    /// Busy spacings in a row.
    pub strikes: u32,
    pub phase: Phase,
}

/// What a watch is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The next match is told at once.
    #[default]
    Idle,
    /// Something was told less than a spacing ago, or more is to be told after it.
    Spacing {
        /// When it is over.
        #[serde(rename = "until_ms")]
        until: BootTime,
        /// What came since, and is to be told then.
        waiting: Option<Waiting>,
    },
    /// It has turned itself off: too much came.
    Off,
    /// Its limit has been reached, and everything told.
    Over,
}

/// Matches that are counted and not told yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// At least one.
    pub count: u64,
    pub last: Match,
}

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// This many matches since the last event, and the last of them.
    Matched {
        count: u64,
        last: Match,
        /// They are the last that will be told: the limit is reached.
        over: bool,
    },
    /// The watch has turned itself off; so many matches were counted and are not told.
    Disabled { untold: u64 },
}

impl State {
    /// Nothing more will be told, so nothing more needs to be looked for.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Off | Phase::Over)
    }
}

impl Limit {
    pub fn new(watch: &Watch) -> Limit {
        Limit::resume(watch, State::default())
    }

    /// Goes on where another one was, in the same boot.
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

    /// Whether more matches are of any use; if not, nothing needs to be scanned any more.
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

    /// Takes a match. One that comes when no more is wanted is passed over.
    pub fn matched(&mut self, now: BootTime, found: impl FnOnce() -> Match) -> Option<Event> {
        let told = self.tick(now);
        if !self.wants_more() {
            return told;
        }
        self.state.seen += 1;
        match &mut self.state.phase {
            Phase::Spacing { waiting, .. } => {
                let count = waiting.as_ref().map_or(0, |waiting| waiting.count) + 1;
                *waiting = Some(Waiting {
                    count,
                    last: found(),
                });
                told
            }
            // A spacing that was over unbusy has told nothing just now.
            _ => Some(self.tell(now, 1, found())),
        }
    }

    /// Says what has become due.
    pub fn tick(&mut self, now: BootTime) -> Option<Event> {
        let Phase::Spacing { until, waiting } = &mut self.state.phase else {
            return None;
        };
        if now < *until {
            return None;
        }
        let Some(Waiting { count, last }) = waiting.take() else {
            self.state.strikes = 0;
            self.state.phase = Phase::Idle;
            return None;
        };
        self.state.strikes += 1;
        // What the limit has ended anyway is told, whatever came.
        if self.state.strikes == self.rules.strikes && !self.is_reached() {
            self.state.phase = Phase::Off;
            return Some(Event::Disabled { untold: count });
        }
        Some(self.tell(now, count, last))
    }

    /// Nothing more will come: says what is not told yet, however recent the last event is.
    pub fn finish(&mut self) -> Option<Event> {
        let phase = std::mem::replace(&mut self.state.phase, Phase::Over);
        match phase {
            Phase::Spacing { waiting, .. } => waiting.map(|Waiting { count, last }| {
                let over = self.is_reached();
                Event::Matched { count, last, over }
            }),
            Phase::Off => {
                self.state.phase = Phase::Off;
                None
            }
            Phase::Idle | Phase::Over => None,
        }
    }

    fn tell(&mut self, now: BootTime, count: u64, last: Match) -> Event {
        let over = self.is_reached();
        self.state.phase = match over {
            true => Phase::Over,
            false => Phase::Spacing {
                until: now + self.rules.spacing,
                waiting: None,
            },
        };
        Event::Matched { count, last, over }
    }

    fn is_reached(&self) -> bool {
        self.rules
            .limit
            .is_some_and(|limit| self.state.seen >= limit)
    }
}

#[cfg(test)]
mod tests;
