//! When a keeper acts again by itself: the timer it sleeps on, and the pause after a failure.

use crate::clock;
use outlive_core::BootTime;
use outlive_sys::clock::Timer;
use std::io;
use std::time::Duration;

/// How long a keeper waits before it retries what failed.
const PAUSE: Duration = Duration::from_millis(100);

/// After a failure a keeper pauses for a moment, so that work which cannot succeed now does not use up a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pause {
    #[default]
    None,
    Until {
        at: BootTime,
        from: Paused,
    },
}

/// What a keeper does not do during a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paused {
    /// Its own work. Clients are still answered: if the journal cannot be written (a full disk), they must not
    /// have to wait for it.
    Work,
    /// Everything, because serving the clients is what failed.
    All,
}

impl Pause {
    /// Begins a pause. If there is one already, everything that either of them names is paused, and it ends no
    /// later than it would have.
    pub fn begin(&mut self, from: Paused) {
        let new = clock::now() + PAUSE;
        *self = match *self {
            Pause::None => Pause::Until { at: new, from },
            Pause::Until { at, from: old } => Pause::Until {
                at: at.min(new),
                from: match (old, from) {
                    (Paused::Work, Paused::Work) => Paused::Work,
                    _ => Paused::All,
                },
            },
        };
    }

    /// Whether the keeper may do its own work.
    pub fn allows_work(self) -> bool {
        self == Pause::None
    }

    /// Whether the keeper may serve its clients.
    pub fn allows_clients(self) -> bool {
        match self {
            Pause::None => true,
            Pause::Until { from, .. } => from == Paused::Work,
        }
    }

    /// There is a pause, and its time has come.
    pub fn is_over(self) -> bool {
        matches!(self, Pause::Until { at, .. } if clock::now() >= at)
    }

    /// How long the pause still lasts, if there is one.
    pub fn left(self) -> Option<Duration> {
        match self {
            Pause::None => None,
            Pause::Until { at, .. } => Some(at.since(clock::now())),
        }
    }

    /// Ends the pause. Says whether there was one.
    pub fn end(&mut self) -> bool {
        std::mem::take(self) != Pause::None
    }
}

/// The timer that a keeper sleeps on. It is made when it is needed first: many jobs need none.
#[derive(Debug, Default)]
pub(crate) enum Alarm {
    #[default]
    NeverSet,
    Made {
        timer: Timer,
        /// When it goes off, if it is set.
        at: Option<BootTime>,
    },
}

impl Alarm {
    /// Sets the timer, or clears it.
    pub fn set(&mut self, next: Option<BootTime>) -> io::Result<()> {
        if next == self.at() {
            return Ok(());
        }
        if let Alarm::NeverSet = self {
            *self = Alarm::Made {
                timer: Timer::new()?,
                at: None,
            };
        }
        if let Alarm::Made { timer, at } = self {
            next.map_or_else(|| timer.clear(), |next| timer.set(next.ms()))?;
            *at = next;
        }
        Ok(())
    }

    fn at(&self) -> Option<BootTime> {
        match self {
            Alarm::NeverSet => None,
            Alarm::Made { at, .. } => *at,
        }
    }

    /// What to sleep on.
    pub fn timer(&self) -> Option<&Timer> {
        match self {
            Alarm::NeverSet => None,
            Alarm::Made { timer, .. } => Some(timer),
        }
    }
}
