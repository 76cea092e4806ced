//! Ringing doorbells once the job has ended: at least once, recorded, never in the way of the end.
//!
//! The end is journaled first. Then each doorbell is run by itself, with the event on its standard
//! input, and what came of it is journaled; a failed one is tried again later. The job is closed when
//! none is left to ring. Killed over it, the next keeper rings again what the journal does not tell of.

use crate::errands::errand::{Errand, Task, Time};
use crate::hooks::Hook;
use crate::supervise::keeper::Keeper;
use outlive_core::doorbell::{self, Doorbell, RingState};
use outlive_core::event::Event;
use outlive_core::outcome::Outcome;
use outlive_core::{State, words};
use outlive_sys::process::Status;
use outlive_sys::{clock, file};
use serde_json::json;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::Command;

impl Keeper<'_> {
    /// Rings what is due.
    pub(crate) fn ring(&mut self) -> io::Result<()> {
        self.write_rings()?;
        let now = clock::boot_ms();
        for number in 0..self.shared.spec.doorbells.len() {
            if self.is_ringing(number) || self.rings_at(number).is_none_or(|at| at > now) {
                continue;
            }
            match self.start_ringing(number) {
                Ok(mut errand) => {
                    let time = self.shared.spec.doorbells[number].time_ms();
                    errand.time = Time::Until(now.saturating_add(time));
                    self.errands.push(errand);
                    self.role.reach(Hook::Ringing);
                }
                Err(error) => self.has_rung(number, Some(format!("cannot be run: {error}")))?,
            }
        }
        Ok(())
    }

    /// Whether it is being rung, or what came of that is still to be written down.
    fn is_ringing(&self, number: usize) -> bool {
        let task = Task::Doorbell(number);
        let name = self
            .shared
            .spec
            .doorbells
            .get(number)
            .map(|bell| &bell.name);
        let is_of = |event: &Event| match event {
            Event::Rung { doorbell, .. } => Some(doorbell) == name,
            _ => false,
        };
        self.errands.iter().any(|errand| errand.task == task) || self.unwritten.iter().any(is_of)
    }

    /// When a doorbell is to be rung next, if it is.
    fn rings_at(&self, number: usize) -> Option<u64> {
        match standing(self.state(), self.shared.spec.doorbells.get(number)?) {
            Some(RingState::Waiting { failure, .. })
                if self.gives_up_ringing && failure.is_some() =>
            {
                None
            }
            Some(RingState::Waiting { at, .. }) => Some(at),
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

    /// Whether one is still to be rung, or again.
    pub(crate) fn has_bells(&self) -> bool {
        let mut bells = self.shared.spec.doorbells.iter().enumerate();
        bells.any(|(number, bell)| match standing(self.state(), bell) {
            Some(RingState::Waiting { failure, .. }) => {
                failure.is_none() || !self.gives_up_ringing || self.is_ringing(number)
            }
            _ => false,
        })
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
        let mut data = words::end_data(spec, end);
        if let Some(command) = &spec.redacted_command {
            data["command"] = json!(command);
        }
        let event = json!({
            "event": spec.event(seq),
            "kind": "ended",
            "job": spec.id,
            "session": spec.session,
            "at": at.timestamp(),
            "data": data,
            "text": words::end_sentence(spec, end),
        });
        let mut file = file::in_memory("outlive-event")?;
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
            Status::Signaled { .. } if errand.time == Time::Up => {
                let bell = self.shared.spec.doorbells.get(number);
                let time = words::duration(bell.map_or(0, Doorbell::time_ms));
                Some(format!("took longer than {time}, and was killed"))
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
        self.role.reach(Hook::Rang);
        let tried = self.state().signs.rings.iter();
        let attempt = 1 + tried.filter(|ring| ring.doorbell == bell.name).count() as u32;
        self.unwritten.push(Event::Rung {
            doorbell: bell.name.clone(),
            attempt,
            failure,
        });
        self.write_rings()
    }

    /// On a full disk this is tried again until there is room: what rang is not rung again meanwhile.
    fn write_rings(&mut self) -> io::Result<()> {
        if !self.unwritten.is_empty() {
            self.ledger.write(&self.unwritten)?;
            self.unwritten.clear();
        }
        Ok(())
    }
}

fn standing(state: &State, bell: &Doorbell) -> Option<RingState> {
    doorbell::standing(state, bell, clock::boot_ms())
}
