//! Now, on both clocks.

use outlive_core::event::Moment;
use outlive_sys::clock;

pub fn now() -> Moment {
    Moment {
        wall_ms: clock::wall_ms(),
        boot_ms: clock::boot_ms(),
    }
}
