//! Now, on both clocks.

use crate::error::Error;
use outlive_core::BootId;
use outlive_core::event::Moment;
use outlive_core::told::When;
use outlive_sys::{clock, procfs};

pub fn now() -> Moment {
    Moment {
        wall_ms: clock::wall_ms(),
        boot_ms: clock::boot_ms(),
    }
}

/// Now, and in which boot of the machine.
pub fn when() -> Result<When, Error> {
    Ok(When {
        boot: boot()?,
        at: now(),
    })
}

pub fn boot() -> Result<BootId, Error> {
    procfs::boot_id()
        .map(BootId)
        .map_err(Error::io("cannot read", "/proc/sys/kernel/random/boot_id"))
}
