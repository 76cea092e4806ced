//! Ringing doorbells after the job has ended: at least once, recorded, and without delaying the end.
//!
//! The end is journaled first. Then each doorbell is run with the event on its standard input, and the result is
//! journaled. A failed one is retried later. The job is closed when no doorbell is left to ring. If a keeper is killed
//! meanwhile, its successor rings again every doorbell whose result is not in the journal.

use crate::clock;
use crate::errands::dispatch::Errands;
use crate::errands::errand::{Errand, Task, TimeLimit};
use crate::hooks::Hook;
use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use crate::supervise::stopping::Stop;
use outlive_core::doorbell::{self, Doorbell, RingState};
use outlive_core::event::Event;
use outlive_core::outcome::Outcome;
use outlive_core::units::show_duration;
use outlive_core::{BootTime, State, words};
use outlive_sys::file;
use outlive_sys::process::Status;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::Command;
use std::time::Duration;

impl Errands {
    /// Rings the doorbells that are due.
    pub fn ring(&mut self, job: &mut KeptJob, stop: &Stop) -> io::Result<()> {
        self.write_rings(job)?;
        let now = clock::now();
        for number in 0..job.spec().doorbells.len() {
            let is_due = rings_at(job, stop, number).is_some_and(|at| at <= now);
            if self.is_ringing(job, number) || !is_due {
                continue;
            }
            match start_ringing(job, number) {
                Ok(mut errand) => {
                    let limit = job.spec().doorbells[number].time_limit();
                    errand.limit = TimeLimit::Until(now + limit);
                    self.at_work.push(errand);
                    job.reach(Hook::Ringing);
                }
                Err(error) => {
                    self.has_rung(job, number, Some(format!("cannot be run: {error}")))?;
                }
            }
        }
        Ok(())
    }

    /// Whether the doorbell is being rung, or its result is not journaled yet.
    fn is_ringing(&self, job: &KeptJob, number: usize) -> bool {
        let task = Task::Doorbell(number);
        let name = job.spec().doorbells.get(number).map(|bell| &bell.name);
        let is_of = |event: &Event| match event {
            Event::Rung { doorbell, .. } => Some(doorbell) == name,
            _ => false,
        };
        self.at_work.iter().any(|errand| errand.task == task) || self.unwritten.iter().any(is_of)
    }

    /// When the next doorbell is to be rung, without those that are being rung now.
    pub fn next_ring(&self, job: &KeptJob, stop: &Stop) -> Option<BootTime> {
        let bells = 0..job.spec().doorbells.len();
        bells
            .filter(|number| !self.is_ringing(job, *number))
            .filter_map(|number| rings_at(job, stop, number))
            .min()
    }

    /// Whether any doorbell is still to be rung or rung again.
    pub fn has_doorbells(&self, job: &KeptJob, stop: &Stop) -> bool {
        let mut bells = job.spec().doorbells.iter().enumerate();
        bells.any(|(number, bell)| match standing(job.state(), bell) {
            Some(RingState::Waiting { failure, .. }) => {
                failure.is_none() || !stop.gives_up_doorbells() || self.is_ringing(job, number)
            }
            _ => false,
        })
    }

    /// A doorbell process has ended.
    pub(super) fn rang(
        &mut self,
        job: &mut KeptJob,
        number: usize,
        errand: &Errand,
        status: Status,
    ) -> io::Result<()> {
        let failure = match status {
            Status::Exited { code: 0 } => None,
            Status::Exited { code } => Some(format!("ended with {code}")),
            Status::Signaled { .. } if errand.limit == TimeLimit::Exceeded => {
                let bell = job.spec().doorbells.get(number);
                let limit = show_duration(bell.map_or(Duration::ZERO, Doorbell::time_limit));
                Some(format!("took longer than {limit}, and was killed"))
            }
            Status::Signaled { signal, .. } => Some(format!("was ended by signal {signal}")),
        };
        let said = errand.words();
        let failure = failure.map(|failure| match said.is_empty() {
            true => failure,
            false => format!("{failure}: {said}"),
        });
        self.has_rung(job, number, failure)
    }

    fn has_rung(
        &mut self,
        job: &mut KeptJob,
        number: usize,
        failure: Option<String>,
    ) -> io::Result<()> {
        let Some(bell) = job.spec().doorbells.get(number) else {
            return Ok(());
        };
        job.reach(Hook::Rang);
        let tried = job.state().signs.rings.iter();
        let attempt = 1 + tried.filter(|ring| ring.doorbell == bell.name).count() as u32;
        self.unwritten.push(Event::Rung {
            doorbell: bell.name.clone(),
            attempt,
            failure,
        });
        self.write_rings(job)
    }

    /// If the disk is full this is tried again later. A doorbell whose result waits here is not rung again meanwhile.
    fn write_rings(&mut self, job: &mut KeptJob) -> io::Result<()> {
        if !self.unwritten.is_empty() {
            job.ledger.write(&self.unwritten)?;
            self.unwritten.clear();
        }
        Ok(())
    }
}

impl Keeper<'_> {
    /// Whether a doorbell is to be rung for this outcome.
    pub(crate) fn has_doorbells_for(&self, outcome: &Outcome) -> bool {
        let mut bells = self.job.spec().doorbells.iter();
        bells.any(|bell| bell.on.rings_for(outcome))
    }
}

/// When a doorbell is to be rung next, if it is.
fn rings_at(job: &KeptJob, stop: &Stop, number: usize) -> Option<BootTime> {
    match standing(job.state(), job.spec().doorbells.get(number)?) {
        Some(RingState::Waiting { failure, .. })
            if stop.gives_up_doorbells() && failure.is_some() =>
        {
            None
        }
        Some(RingState::Waiting { at, .. }) => Some(at),
        _ => None,
    }
}

fn start_ringing(job: &KeptJob, number: usize) -> io::Result<Errand> {
    let bell = &job.spec().doorbells[number];
    let (program, arguments) = bell.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program.as_os_str());
    command.args(arguments.iter().map(|argument| argument.as_os_str()));
    // In the directory where the job ran, if it still exists.
    if std::path::Path::new(job.spec().cwd.as_os_str()).is_dir() {
        command.current_dir(job.spec().cwd.as_os_str());
    }
    let input = event(job)?;
    Errand::start(
        &job.shared.directory,
        Task::Doorbell(number),
        command,
        input,
    )
}

/// The job's end as an event in JSON, in a file in memory.
fn event(job: &KeptJob) -> io::Result<File> {
    let event = words::end_event(job.spec(), job.state()).ok_or(io::ErrorKind::NotFound)?;
    let mut file = file::in_memory("outlive-event")?;
    file.write_all(&serde_json::to_vec(&event)?)?;
    file.rewind()?;
    Ok(file)
}

fn standing(state: &State, bell: &Doorbell) -> Option<RingState> {
    doorbell::standing(state, bell, clock::now())
}
