//! Looking for signs (watched lines, readiness, silence, prompts) as output comes and time passes, and writing
//! those found to the journal.

use crate::clock;
use crate::hooks::Hook;
use crate::output::capture::Capture;
use crate::signs::detector::Signs;
use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use outlive_core::BootTime;
use outlive_core::control::InputKind;
use std::io;

/// What a keeper looks for in the job.
#[derive(Debug)]
pub(crate) struct SignWatch {
    /// `None` if nothing was asked for, and once the job has ended.
    pub(super) signs: Option<Box<Signs>>,
    /// The size of the output at the last look.
    seen: u64,
}

impl SignWatch {
    pub fn new(signs: Option<Box<Signs>>, seen: u64) -> SignWatch {
        SignWatch { signs, seen }
    }

    /// Looks at new output, before any of it may be dropped. Does nothing if nothing was asked for.
    pub fn look_at_output(&mut self, job: &mut KeptJob, capture: &Capture) {
        let size = capture.size();
        let Some(signs) = &mut self.signs else {
            return;
        };
        let now = clock::now();
        if size > self.seen {
            self.seen = size;
            if let Some(silence) = &mut signs.silence {
                silence.is_broken(now);
            }
            if let Some(prompt) = &mut signs.prompt {
                prompt.is_alive(now);
            }
        }
        // Output that cannot be read now is read together with the next output.
        let _ = signs.look(capture.output(), size, job.spec(), now);
        self.journal(job);
    }

    /// The job, which had waited for its lock, has been started.
    pub fn begin(&mut self) {
        if let Some(signs) = &mut self.signs {
            signs.begin(clock::now());
        }
    }

    /// When something is due.
    pub fn due_at(&self) -> Option<BootTime> {
        self.signs.as_deref().and_then(Signs::due_at)
    }

    /// Handles what depends on time alone. Says whether anything is looked for.
    fn tick(&mut self, now: BootTime, size: u64) -> bool {
        match &mut self.signs {
            Some(signs) => {
                signs.tick(now, size);
                true
            }
            None => false,
        }
    }

    fn is_prompt_due(&self, now: BootTime) -> bool {
        let prompt = self.signs.as_ref().and_then(|signs| signs.prompt.as_ref());
        prompt
            .and_then(|prompt| prompt.look_at())
            .is_some_and(|at| at <= now)
    }

    fn looked_for_prompt(&mut self, awaiting: Option<InputKind>, size: u64, accepted: u64) {
        if let Some(signs) = &mut self.signs {
            signs.looked(awaiting, size, accepted);
        }
    }

    /// Somebody has written to the job.
    pub fn input_came(&mut self) {
        if let Some(signs) = &mut self.signs
            && let Some(prompt) = &mut signs.prompt
        {
            prompt.is_talked_to(clock::now());
        }
    }

    /// The job has ended: signs that are not in the journal yet go there before the end does.
    pub fn finish(&mut self, job: &mut KeptJob) {
        if let Some(signs) = &mut self.signs {
            signs.finish(clock::now());
        }
        self.journal(job);
        self.signs = None;
    }

    /// Writes the signs to the journal. Those that a full disk refuses are tried again with the next sign.
    fn journal(&mut self, job: &mut KeptJob) {
        let Some(signs) = &mut self.signs else {
            return;
        };
        while let Some(events) = signs.unwritten() {
            if job.ledger.write(events).is_err() {
                return;
            }
            job.reach(Hook::Noticed);
            signs.has_written();
        }
        let _ = signs.save();
    }
}

impl Keeper<'_> {
    /// Handles the signs that depend on time. A job that waits for its lock is not silent: it has not begun.
    pub(crate) fn notice_time(&mut self) -> io::Result<()> {
        let now = clock::now();
        let size = self.output.capture.size();
        if self.is_waiting() || !self.signs.tick(now, size) {
            return Ok(());
        }
        if self.signs.is_prompt_due(now) {
            let awaiting = self.awaiting()?;
            let accepted = self.input.accepted();
            self.signs.looked_for_prompt(awaiting, size, accepted);
        }
        self.signs.journal(&mut self.job);
        Ok(())
    }

    /// When a sign is due.
    pub(crate) fn signs_due_at(&self) -> Option<BootTime> {
        match self.is_waiting() {
            true => None,
            false => self.signs.due_at(),
        }
    }
}
