//! The current time, on both clocks.

use crate::clock;
use crate::error::Error;
use crate::jobs::whereabouts;
use outlive_core::BootId;
use outlive_core::event::Moment;
use outlive_core::told::BootMoment;
use std::time::Duration;

pub fn now() -> Moment {
    let ahead = Duration::from_millis(ahead_ms());
    Moment {
        wall: clock::wall() + ahead,
        boot: clock::boot() + ahead,
    }
}

#[cfg(not(test))]
fn ahead_ms() -> u64 {
    0
}

#[cfg(test)]
use ahead::ahead_ms;

/// The current time, and the current boot of the machine.
pub fn when() -> Result<BootMoment, Error> {
    Ok(BootMoment {
        boot: boot()?,
        at: now(),
    })
}

pub fn boot() -> Result<BootId, Error> {
    whereabouts::here().map(|here| here.boot.clone())
}

/// Lets time pass in a test.
#[cfg(test)]
pub mod ahead {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    thread_local! {
        static CLOCK: RefCell<Arc<AtomicU64>> = RefCell::default();
    }

    /// From now on, this thread's clock is this many milliseconds ahead.
    pub fn follow(clock: Arc<AtomicU64>) {
        CLOCK.set(clock);
    }

    pub fn ahead_ms() -> u64 {
        CLOCK.with_borrow(|clock| clock.load(Ordering::SeqCst))
    }
}
