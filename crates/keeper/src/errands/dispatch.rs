//! Starting processes that work for the keeper, and handling their results.

use crate::clock;
use crate::errands::errand::{Errand, Task, TimeLimit, own_program};
use crate::start::delayed::Taken;
use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use crate::supervise::timing::Paused;
use crate::turns::{Turn, after};
use outlive_core::BootTime;
use outlive_core::after::MUST_NOT_START;
use outlive_core::event::Event;
use outlive_core::ready::Ready;
use outlive_sys::process::{self, Status};
use std::fs::File;
use std::io;

/// The processes that work for a keeper.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    pub(super) at_work: Vec<Errand>,
    /// Results of doorbells that could not be journaled yet.
    pub(super) unwritten: Vec<Event>,
    probe: Probe,
}

/// The process that finds out whether the job is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Probe {
    #[default]
    NotSent,
    /// It runs, or it has reported.
    Sent,
}

/// The keeper cannot wait for other jobs by itself.
const NO_WAITER: &str =
    "the program `outlive`, which waits for the jobs that it was to start after, was not found";

impl Errands {
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        self.at_work.iter().map(|errand| errand.pid)
    }

    fn send(&mut self, job: &KeptJob, task: Task, what: &str, input: File) -> io::Result<()> {
        let directory = &job.shared.directory;
        let errand = Errand::start(directory, task, own_program(directory, what), input)?;
        self.at_work.push(errand);
        Ok(())
    }

    /// Starts a probe if the job has a readiness check and no probe was started yet.
    fn send_probe(&mut self, job: &KeptJob) -> io::Result<()> {
        let is_asked_for = matches!(job.spec().ready, Some(Ready::Port(_) | Ready::Http(_)));
        let is_due = is_asked_for && job.is_running() && self.probe == Probe::NotSent;
        if is_due && job.state().signs.ready.is_none() {
            self.probe = Probe::Sent;
            self.send(job, Task::Probe, "probe", File::open("/dev/null")?)?;
        }
        Ok(())
    }

    /// The probe found the job ready. If this cannot be journaled (a full disk), the job is probed again.
    fn found_ready(&mut self, job: &mut KeptJob) -> io::Result<()> {
        if job.has_ended() || job.is_between_attempts() {
            return Ok(());
        }
        let written = job.ledger.write(&[Event::Ready]);
        self.probe = match written {
            Ok(()) => Probe::Sent,
            Err(_) => Probe::NotSent,
        };
        written
    }

    pub fn kill_probe(&self) {
        for errand in &self.at_work {
            if errand.task == Task::Probe {
                errand.kill();
            }
        }
    }

    /// Ends the probe of an attempt that has ended, and returns when it is gone: what it finds must not count for the
    /// next attempt, which has its own.
    pub fn call_off_probe(&mut self) {
        for errand in self
            .at_work
            .extract_if(.., |errand| errand.task == Task::Probe)
        {
            errand.call_off();
        }
        self.probe = Probe::NotSent;
    }

    /// Ends the process that waits for the job's turn, and returns when it is gone.
    pub fn call_off_wait(&mut self) {
        let waits = |errand: &mut Errand| matches!(errand.task, Task::Wait(_));
        for errand in self.at_work.extract_if(.., waits) {
            errand.call_off();
        }
    }

    fn is_waiting(&self) -> bool {
        let mut all = self.at_work.iter();
        all.any(|errand| matches!(errand.task, Task::Wait(_)))
    }

    /// Starts the process that waits for this. `false` if the program for it does not exist.
    fn send_wait(&mut self, job: &KeptJob, turn: Turn) -> io::Result<bool> {
        let shared = &*job.shared;
        let null = || File::open("/dev/null");
        let (command, input) = match (turn, &shared.place, &shared.named_lock) {
            (Turn::Queue, Some(place), _) => {
                (Some(own_program(&shared.directory, "queue")), place.line()?)
            }
            (Turn::Lock, _, Some(lock)) => {
                (Some(own_program(&shared.directory, "turn")), lock.file()?)
            }
            _ => (after::command(job.spec()), null()?),
        };
        let Some(command) = command else {
            return Ok(false);
        };
        match Errand::start(&shared.directory, Task::Wait(turn), command, input) {
            Ok(errand) => self.at_work.push(errand),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// When the next of these processes reaches its time limit.
    pub fn end_at(&self) -> Option<BootTime> {
        let ends = self.at_work.iter().filter_map(|errand| match errand.limit {
            TimeLimit::Until(at) => Some(at),
            TimeLimit::Unlimited | TimeLimit::Exceeded => None,
        });
        ends.min()
    }

    /// Kills the processes that have exceeded their time limit.
    pub fn end_late(&mut self) {
        let now = clock::now();
        for errand in &mut self.at_work {
            if matches!(errand.limit, TimeLimit::Until(at) if at <= now) {
                errand.limit = TimeLimit::Exceeded;
                errand.kill();
            }
        }
    }

    fn take(&mut self, pid: i32) -> Option<Errand> {
        let place = self.at_work.iter().position(|errand| errand.pid == pid)?;
        Some(self.at_work.remove(place))
    }
}

impl Keeper<'_> {
    /// Starts every errand that is due and not running.
    pub(crate) fn send_errands(&mut self) -> io::Result<()> {
        if self.is_waiting() && !self.errands.is_waiting() {
            self.wait_for_turn()?;
        }
        self.errands.send_probe(&self.job)?;
        match self.job.has_ended() && !self.job.is_closed() {
            true => self.errands.ring(&mut self.job, &self.stop),
            false => Ok(()),
        }
    }

    /// Starts the job if everything it waits for is there, else the process that waits for the next thing.
    fn wait_for_turn(&mut self) -> io::Result<()> {
        let turn = match self.take_turns()? {
            Taken::All => return self.start_after_wait(),
            Taken::Never => return Ok(()),
            Taken::NotAll(turn) => turn,
        };
        match self.errands.send_wait(&self.job, turn)? {
            true => Ok(()),
            false => self.refuse_to_start(NO_WAITER),
        }
    }

    /// Whether this ended child worked for the keeper. If so, its result is handled.
    pub(crate) fn is_back(&mut self, pid: i32) -> io::Result<bool> {
        let Some(errand) = self.errands.take(pid) else {
            return Ok(false);
        };
        let status = process::wait_for_child(pid)?;
        match (errand.task, status) {
            (Task::Wait(turn), Status::Exited { code: 0 }) => self.came(turn)?,
            (Task::Wait(Turn::After), Status::Exited { code })
                if code == i32::from(MUST_NOT_START) =>
            {
                self.refuse_to_start(&errand.words())?;
            }
            // It is started again.
            (Task::Wait(_), _) => return Err(io::Error::other("waiting for its turn failed")),
            (Task::Probe, Status::Exited { code: 0 }) => self.errands.found_ready(&mut self.job)?,
            // Somebody killed it, or it could not start. Another one is started.
            (Task::Probe, _) if !self.job.has_ended() => {
                self.errands.probe = Probe::NotSent;
                self.pause.begin(Paused::Work);
            }
            (Task::Probe, _) => {}
            (Task::Doorbell(number), status) => {
                self.errands.rang(&mut self.job, number, &errand, status)?;
            }
        }
        Ok(true)
    }
}
