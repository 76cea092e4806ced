//! Sending processes on errands, and hearing what became of them.

use crate::errands::errand::{Errand, Task, Time, own_program};
use crate::supervise::keeper::{Keeper, Rest};
use outlive_core::Phase;
use outlive_core::event::Event;
use outlive_core::ready::Ready;
use outlive_sys::clock;
use outlive_sys::process::{self, Status};
use std::fs::File;
use std::io;

impl Keeper<'_> {
    /// Starts what is to be done and is not being done.
    pub(crate) fn send_errands(&mut self) -> io::Result<()> {
        if self.is_waiting() && !self.is_out_for(Task::Turn) {
            self.wait_for_turn()?;
        }
        let looks = matches!(
            self.shared.spec.ready,
            Some(Ready::Port(_) | Ready::Http(_))
        );
        let running = matches!(self.state().phase, Phase::Running(_));
        if looks && running && !self.probed && self.state().signs.ready.is_none() {
            self.probed = true;
            self.send(Task::Probe, "probe", File::open("/dev/null")?)?;
        }
        match self.state().end().is_some() && !self.is_done() {
            true => self.ring(),
            false => Ok(()),
        }
    }

    fn is_out_for(&self, task: Task) -> bool {
        self.errands.iter().any(|errand| errand.task == task)
    }

    fn send(&mut self, task: Task, what: &str, input: File) -> io::Result<()> {
        let job = &self.shared.job;
        let errand = Errand::start(job, task, own_program(job, what), input)?;
        self.errands.push(errand);
        Ok(())
    }

    fn wait_for_turn(&mut self) -> io::Result<()> {
        match &self.shared.turn {
            Some(turn) => {
                let file = turn.file()?;
                self.send(Task::Turn, "turn", file)
            }
            None => self.start_after_wait(),
        }
    }

    /// When an errand has had its time.
    pub(crate) fn errands_end_at(&self) -> Option<u64> {
        let ends = self.errands.iter().filter_map(|errand| match errand.time {
            Time::Until(at) => Some(at),
            Time::AsItTakes | Time::Up => None,
        });
        ends.min()
    }

    pub(crate) fn end_late_errands(&mut self) {
        let now = clock::boot_ms();
        for errand in &mut self.errands {
            if matches!(errand.time, Time::Until(at) if at <= now) {
                errand.time = Time::Up;
                errand.kill();
            }
        }
    }

    /// Whether this ended child was on an errand; then what came of it is taken note of.
    pub(crate) fn is_back(&mut self, pid: i32) -> io::Result<bool> {
        let Some(place) = self.errands.iter().position(|errand| errand.pid == pid) else {
            return Ok(false);
        };
        let errand = self.errands.remove(place);
        let status = process::wait_for_child(pid)?;
        match (errand.task, status) {
            (Task::Turn, Status::Exited { code: 0 }) => self.start_after_wait()?,
            // It is sent again.
            (Task::Turn, _) => return Err(io::Error::other("waiting for the lock failed")),
            (Task::Probe, Status::Exited { code: 0 }) => self.is_ready()?,
            // Killed by somebody, or it could not begin: another is sent.
            (Task::Probe, _) if self.state().end().is_none() => {
                self.probed = false;
                self.hold_off(Rest::Work);
            }
            (Task::Probe, _) => {}
            (Task::Doorbell(number), status) => self.rang(number, &errand, status)?,
        }
        Ok(true)
    }

    fn is_ready(&mut self) -> io::Result<()> {
        match self.state().end() {
            Some(_) => Ok(()),
            None => {
                let written = self.ledger.write(&[Event::Ready]);
                // What a full disk does not take is seen again.
                self.probed = written.is_ok();
                written
            }
        }
    }
}
