//! The two clocks that journals and deadlines use. Pauses inside one process use `Instant`.

use outlive_core::event::Moment;
use outlive_core::{BootTime, WallTime};
use outlive_sys::clock;

pub(crate) fn now() -> BootTime {
    BootTime::from_ms(clock::boot_ms())
}

/// Now, on both clocks.
pub(crate) fn moment() -> Moment {
    Moment {
        wall: WallTime::from_ms(clock::wall_ms()),
        boot: now(),
    }
}
