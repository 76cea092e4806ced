//! What becomes of the signs of a job that is restarted. Watches go on over attempts; readiness is of one attempt.

use super::{Place, Signs, ready_scanner};
use outlive_core::{BootTime, Spec};
use std::io;

impl Signs {
    /// The command has ended, and will be run again.
    pub fn end_attempt(&mut self, now: BootTime) {
        self.look_at_begun(now);
        self.ready = None;
        if let Some(silence) = &mut self.silence {
            silence.pause();
        }
    }

    /// The command is run again. Its output begins at `from`.
    pub fn begin_attempt(&mut self, spec: &Spec, from: u64) -> io::Result<()> {
        self.ready = ready_scanner(spec, Place::default().not_before(from))?;
        Ok(())
    }
}
