//! Wakes processes that wait for an inbox: see `home/bell.rs`.

use crate::error::Error;
use crate::home::bell::{self, Bell};
use crate::home::outlive::Outlive;
use outlive_core::Label;

/// Makes a bell for this inbox.
pub fn listen(outlive: &Outlive, session: &Label) -> Result<Bell, Error> {
    Bell::create(outlive, &outlive.home().inbox(session))
}

/// Wakes every process that waits for this inbox.
pub fn wake(outlive: &Outlive, session: &Label) {
    bell::ring(&outlive.home().inbox(session), b"!");
}
