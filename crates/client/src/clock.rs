//! The two clocks. Nothing else in this crate asks the kernel for the time.

use outlive_core::{BootTime, WallTime};
use outlive_sys::clock;

/// Now, on the clock that deadlines are measured on.
pub fn boot() -> BootTime {
    BootTime::from_ms(clock::boot_ms())
}

/// Now, on the clock that people read.
pub fn wall() -> WallTime {
    WallTime::from_ms(clock::wall_ms())
}
