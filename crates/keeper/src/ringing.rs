//! Ringing doorbells once the job has ended: at least once, recorded, never in the way of the end.
//!
//! The end is journaled first. Then each doorbell is run by itself, with the event on its standard
//! input, and what came of it is journaled; a failed one is tried again later. The job is closed when
//! none is left to ring. Killed over it, the next keeper rings again what the journal does not tell of.

use crate::errand::{Errand, Task};
use crate::keeper::Keeper;
use outlive_core::doorbell::{self, Doorbell, Standing};
use outlive_core::event::Event;
use outlive_core::outcome::Outcome;
use outlive_core::{State, words};
use outlive_sys::pidfd::Status;
use outlive_sys::{clock, memory};
use serde_json::json;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::Command;

/// A ring that takes longer has failed.
const PATIENCE_MS: u64 = 60_000;

impl Keeper<'_> {
    /// Rings what is due.
    pub(crate) fn ring(&mut self) -> io::Result<()> {
        let now = clock::boot_ms();
        for number in 0..self.shared.spec.doorbells.len() {
            if self.is_ringing(number) || self.rings_at(number).is_none_or(|at| at > now) {
                continue;
            }
            match self.start_ringing(number) {
                Ok(mut errand) => {
                    errand.until = Some(now + PATIENCE_MS);
                    self.errands.push(errand);
                }
                Err(error) => self.has_rung(number, Some(format!("cannot be run: {error}")))?,
            }
        }
        Ok(())
    }

    fn is_ringing(&self, number: usize) -> bool {
        let task = Task::Doorbell(number);
        self.errands.iter().any(|errand| errand.task == task)
    }

    /// When a doorbell is to be rung next, if it is.
    fn rings_at(&self, number: usize) -> Option<u64> {
        match standing(self.state(), self.shared.spec.doorbells.get(number)?) {
            Some(Standing::Waiting { at, .. }) => Some(at),
            _ => None,
        }
    }

    /// When one is to be rung that is not being rung.
    pub(crate) fn next_ring(&self) -> Option<u64> {
        let bells = 0..self.shared.spec.doorbells.len();
        bells
            .filter(|number| !self.is_ringing(*number))
            .filter_map(|number| self.rings_at(number))
            .min()
    }

    /// Whether some doorbell of this outcome is still to be rung.
    pub(crate) fn has_bells_for(&self, outcome: &Outcome) -> bool {
        let mut bells = self.shared.spec.doorbells.iter();
        bells.any(|bell| bell.on.rings_for(outcome))
    }

    pub(crate) fn has_bells(&self) -> bool {
        let mut bells = self.shared.spec.doorbells.iter();
        bells.any(|bell| matches!(standing(self.state(), bell), Some(Standing::Waiting { .. })))
    }

    fn start_ringing(&self, number: usize) -> io::Result<Errand> {
        let bell = &self.shared.spec.doorbells[number];
        let (program, arguments) = bell.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program.as_os_str());
        command.args(arguments.iter().map(|argument| argument.as_os_str()));
        // Where the job ran, if that is still there.
        if std::path::Path::new(self.shared.spec.cwd.as_os_str()).is_dir() {
            command.current_dir(self.shared.spec.cwd.as_os_str());
        }
        let input = self.event()?;
        Errand::start(&self.shared.job, Task::Doorbell(number), command, input)
    }

    /// The end, as the interface writes events.
    fn event(&self) -> io::Result<File> {
        let spec = &self.shared.spec;
        let state = self.state();
        let (Some(end), Some(at), Some(seq)) = (state.end(), state.ended_at(), state.end_seq)
        else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let event = json!({
            "event": format!("{}:{seq}", spec.id),
            "kind": "ended",
            "job": spec.id,
            "session": spec.session,
            "at": words::timestamp(at.wall_ms),
            "data": words::end_data(spec, end),
            "text": words::end_sentence(spec, end),
        });
        let mut file = memory::file("outlive-event")?;
        file.write_all(event.to_string().as_bytes())?;
        file.rewind()?;
        Ok(file)
    }

    /// A ring is over.
    pub(crate) fn rang(
        &mut self,
        number: usize,
        errand: &Errand,
        status: Status,
    ) -> io::Result<()> {
        let failure = match status {
            Status::Exited { code: 0 } => None,
            Status::Exited { code } => Some(format!("ended with {code}")),
            Status::Signaled { .. } if errand.until.is_some_and(|at| at <= clock::boot_ms()) => {
                Some(format!("took longer than {} s", PATIENCE_MS / 1000))
            }
            Status::Signaled { signal, .. } => Some(format!("was ended by signal {signal}")),
        };
        let said = errand.words();
        let failure = failure.map(|failure| match said.is_empty() {
            true => failure,
            false => format!("{failure}: {said}"),
        });
        self.has_rung(number, failure)
    }

    fn has_rung(&mut self, number: usize, failure: Option<String>) -> io::Result<()> {
        let Some(bell) = self.shared.spec.doorbells.get(number) else {
            return Ok(());
        };
        let tried = self.state().signs.rings.iter();
        let attempt = 1 + tried.filter(|ring| ring.doorbell == bell.name).count() as u32;
        self.ledger.write(&[Event::Rung {
            doorbell: bell.name.clone(),
            attempt,
            failure,
        }])
    }
}

fn standing(state: &State, bell: &Doorbell) -> Option<Standing> {
    doorbell::standing(state, bell, clock::boot_ms())
}
