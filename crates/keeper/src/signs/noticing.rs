//! Noticing what the job shows of itself, as output comes and time passes.

use crate::errands::errand::Task;
use crate::hooks::Hook;
use crate::signs::detector::Signs;
use crate::start::leader::Leader;
use crate::supervise::keeper::Keeper;
use outlive_sys::clock;
use std::io;

impl Keeper<'_> {
    /// Looks at output that has come, before any of it may be dropped. Costs nothing where nothing was
    /// asked for.
    pub(crate) fn notice_output(&mut self) {
        let size = self.capture.size();
        let grown = size > self.noticed;
        let Some(signs) = &mut self.signs else {
            return;
        };
        let now = clock::boot_ms();
        if grown {
            self.noticed = size;
            if let Some(silence) = &mut signs.silence {
                silence.is_broken(now);
            }
            if let Some(prompt) = &mut signs.prompt {
                prompt.is_alive(now);
            }
        }
        // What cannot be read now is read with what comes next; a successor has some of it to read again.
        let _ = signs.look(self.capture.output(), size, &self.shared.spec, now);
        self.journal_signs();
    }

    /// Says what has become due.
    pub(crate) fn notice_time(&mut self) -> io::Result<()> {
        let now = clock::boot_ms();
        let size = self.capture.size();
        let Some(signs) = &mut self.signs else {
            return Ok(());
        };
        if matches!(self.leader, Leader::Waiting) {
            return Ok(());
        }
        signs.tick(now, size);
        let due = |at: Option<u64>| at.is_some_and(|at| at <= now);
        if due(signs.prompt.as_ref().and_then(|prompt| prompt.look_at())) {
            self.look_for_prompt(size)?;
        }
        self.journal_signs();
        Ok(())
    }

    fn look_for_prompt(&mut self, size: u64) -> io::Result<()> {
        let awaiting = self.awaiting()?;
        let accepted = self.desk.accepted();
        if let Some(signs) = &mut self.signs {
            signs.looked(awaiting, size, accepted);
        }
        Ok(())
    }

    /// The job, which had waited for its turn, has been started.
    pub(crate) fn notice_start(&mut self) {
        if let Some(signs) = &mut self.signs {
            signs.begin(clock::boot_ms());
        }
    }

    /// When something is to be noticed next. A job that waits for its turn is not silent, it has not
    /// begun.
    pub(crate) fn signs_due_at(&self) -> Option<u64> {
        match self.leader {
            Leader::Waiting => None,
            _ => self.signs.as_deref().and_then(Signs::due_at),
        }
    }

    /// Somebody has written to the job.
    pub(crate) fn notice_input(&mut self) {
        if let Some(signs) = &mut self.signs
            && let Some(prompt) = &mut signs.prompt
        {
            prompt.is_talked_to(clock::boot_ms());
        }
    }

    /// The job has ended: what was noticed and not told goes into the journal before its end.
    pub(crate) fn notice_end(&mut self) {
        if let Some(signs) = &mut self.signs {
            signs.finish(clock::boot_ms());
        }
        self.journal_signs();
        self.signs = None;
        for errand in &self.errands {
            if errand.task == Task::Probe {
                errand.kill();
            }
        }
    }

    /// Journals what was noticed. What cannot be, on a full disk, is tried again with the next.
    fn journal_signs(&mut self) {
        let Some(signs) = &mut self.signs else {
            return;
        };
        while let Some(events) = signs.unwritten() {
            if self.ledger.write(events).is_err() {
                return;
            }
            self.role.reach(Hook::Noticed);
            signs.has_written();
        }
        let _ = signs.save();
    }
}
