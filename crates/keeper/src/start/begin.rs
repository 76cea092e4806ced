//! A process becomes the keeper: it reads the journal and starts the job, or finds what a predecessor started.
//!
//! ```text
//!  journal says   the keeper
//!  Accepted       forks a leader and brings it to its program, or waits for the job's lock
//!  Spawned        a predecessor died while it started the leader: finishes that
//!  later          finds the leader that the journal names
//! ```
//! The leader is forked first, and makes itself ready while this process opens what a keeper needs.

use crate::errands::lock_wait::{Now, Turn};
use crate::hooks::{Hook, Role};
use crate::pair::company::Company;
use crate::pair::shared::Shared;
use crate::start::findable::Finding;
use crate::start::gate::{self, Unwritten};
use crate::start::leader::{self, Leader};
use crate::start::tools::{self, Tools};
use crate::supervise::keeper::Keeper;
use crate::supervise::ledger::{Ledger, now};
use outlive_core::ending;
use outlive_core::event::{Event, Keeping};
use outlive_core::outcome::End;
use outlive_core::{JobDir, Phase, ProcRef, Spec};
use outlive_sys::child::{self, Gate, GateInside};
use outlive_sys::clock;
use outlive_sys::process::{self, PidFd};
use std::io;

/// How a process becomes the keeper.
#[derive(Debug)]
pub struct Beginning {
    pub role: Role,
    pub inside: Option<GateInside>,
    pub company: Company,
    pub finding: Finding,
}

impl Beginning {
    pub fn heir(finding: Finding) -> Beginning {
        Beginning {
            role: Role::Heir,
            inside: None,
            company: Company::NOBODY,
            finding,
        }
    }
}

/// A keeper for the job as it stands; none where the job cannot be started.
///
/// Kept out of line: its large stack frame must not stay allocated while the keeper sleeps.
#[inline(never)]
pub fn begin(shared: &mut Shared, beginning: Beginning) -> io::Result<Option<Box<Keeper<'_>>>> {
    let Beginning {
        role,
        mut inside,
        company,
        finding,
    } = beginning;
    if role == Role::Heir {
        shared.begun_ms = clock::boot_ms();
    }
    let held = shared.leader.take();
    role.reach(Hook::Begun);
    let mut ledger = Ledger::open(&shared.job).map_err(io::Error::other)?;
    let how = match (role, &ledger.state().phase) {
        (Role::Heir, _) => Keeping::TakenOver,
        (Role::Keeper, Phase::Accepted) => Keeping::Launched,
        (Role::Keeper, _) => Keeping::Adopted,
    };
    let early_stop = ledger.state().is_stopped_early();
    let mut forked = None;
    if let (Phase::Accepted, None, false) = (&ledger.state().phase, &shared.turn, early_stop) {
        // It makes itself ready while this does; if this fails, its gate closes and it ends there.
        let inside = inside_of_gate(shared, inside.take())?;
        forked = Some(fork_leader(role, shared, inside));
    }
    // Who keeps it is good to know and nothing hangs on it: a full disk must not end this here.
    let _ = tools::kept(how, company.pid()).and_then(|event| ledger.write(&[event]));
    let tools = match Tools::new(shared, ledger.state()) {
        // Nothing has run yet, so why it cannot is the outcome.
        Err(error) if ledger.state().phase == Phase::Accepted => {
            return give_up(&shared.job, &error).map(|()| None);
        }
        other => other?,
    };
    let leader = match forked {
        Some(forked) => bring_to_program(role, shared, &mut ledger, forked)?,
        None => find_or_start(role, shared, &mut ledger, held, &mut inside)?,
    };
    if let (Some(turn), Keeping::Adopted, None) = (&shared.turn, how, ledger.state().end()) {
        turn.retake();
    }
    role.reach(Hook::Started);
    // One that is adopted may have ended, which is to be recorded first.
    if leader.awaited().is_some() && how != Keeping::Adopted {
        shared.ring_ready();
    }
    let mut keeper = Keeper::new(role, shared, ledger, tools, leader, how, finding);
    keeper.keep_company(company);
    keeper.inside = inside;
    Ok(Some(keeper))
}

/// The leader of a job, as the journal has it. Starts one where there was none, unless the job waits for its lock.
fn find_or_start(
    role: Role,
    shared: &mut Shared,
    ledger: &mut Ledger,
    held: Option<(ProcRef, PidFd)>,
    inside: &mut Option<GateInside>,
) -> io::Result<Leader> {
    match ledger.state().phase.clone() {
        // A predecessor died while it stopped the job.
        Phase::Accepted if ledger.state().is_stopped_early() => {
            Ok(Leader::NotStarted(gate::stopped(&shared.spec)))
        }
        Phase::Accepted if take_turn(shared)? == Now::Taken => {
            // Made before a standby is forked, which needs it when the lock is free.
            *inside = Some(inside_of_gate(shared, inside.take())?);
            Ok(Leader::Waiting)
        }
        Phase::Accepted => start_leader(role, shared, ledger, inside.take()),
        Phase::Spawned(leader) => finish_start(role, shared, ledger, leader.process),
        phase => {
            // The predecessors' lock was released when they died. Take it again, unless another job has it now.
            let _ = take_turn(shared);
            find_leader(held, ledger, phase.leader().map(|leader| leader.process))
        }
    }
}

/// Takes the job's named lock. A job without one always has its turn.
fn take_turn(shared: &Shared) -> io::Result<Now> {
    shared.turn.as_ref().map_or(Ok(Now::Mine), Turn::take)
}

/// Starts a new leader. Returns when it executes its program, or could not.
pub fn start_leader(
    role: Role,
    shared: &mut Shared,
    ledger: &mut Ledger,
    inside: Option<GateInside>,
) -> io::Result<Leader> {
    let inside = inside_of_gate(shared, inside)?;
    let forked = fork_leader(role, shared, inside);
    bring_to_program(role, shared, ledger, forked)
}

/// What was made with the gate, or else that of a new one.
fn inside_of_gate(shared: &mut Shared, inside: Option<GateInside>) -> io::Result<GateInside> {
    if let Some(inside) = inside {
        return Ok(inside);
    }
    // Letting go of a predecessor's gate ends a leader that may wait there unwritten.
    let (gate, inside) = child::gate()?;
    shared.gate = gate;
    Ok(inside)
}

/// A leader that waits at the gate.
fn fork_leader(role: Role, shared: &Shared, inside: GateInside) -> io::Result<Unwritten> {
    let ends = shared.channel.leader_ends(&shared.job)?;
    gate::fork(role, shared, inside, ends)
}

fn bring_to_program(
    role: Role,
    shared: &Shared,
    ledger: &mut Ledger,
    forked: io::Result<Unwritten>,
) -> io::Result<Leader> {
    match forked.and_then(|leader| leader.write_down(ledger)) {
        Ok(()) => pass_gate(role, &shared.gate, &shared.spec, ledger),
        Err(error) => Ok(Leader::NotStarted(gate::failed(
            "cannot start a process",
            &error,
        ))),
    }
}

/// A predecessor died between writing the leader down and hearing that it runs.
fn finish_start(
    role: Role,
    shared: &Shared,
    ledger: &mut Ledger,
    leader: ProcRef,
) -> io::Result<Leader> {
    match role {
        Role::Heir => pass_gate(role, &shared.gate, &shared.spec, ledger),
        Role::Keeper => {
            // Both died. A leader at the gate holds their lock as well and ends without having run,
            // so one that runs now, while this keeper has the lock, has executed its program. Of one
            // that has ended nobody can tell.
            if !process::is_executing(leader.pid) {
                return Ok(Leader::Gone(leader::STARTING));
            }
            let found = find_leader(None, ledger, Some(leader))?;
            if found.awaited().is_some() {
                ledger.journal().append(now(), &[Event::Started])?;
            }
            Ok(found)
        }
    }
}

fn pass_gate(role: Role, gate: &Gate, spec: &Spec, ledger: &mut Ledger) -> io::Result<Leader> {
    let process = ledger.state().phase.leader().map(|leader| leader.process);
    // Found while it waits at the gate: it may not be a child of this process, and be gone soon after.
    let leader = match (role, process) {
        (Role::Keeper, Some(process)) => Leader::child(process.pid),
        _ => find_leader(None, ledger, process),
    };
    match gate::open_gate(role, gate, spec)? {
        Err(outcome) => Ok(Leader::NotStarted(outcome)),
        // The gate closes also when a leader is killed at it.
        Ok(()) if has_died_first(&leader, process) => Ok(Leader::NotStarted(gate::killed_first())),
        Ok(()) => {
            ledger.journal().append(now(), &[Event::Started])?;
            leader
        }
    }
}

fn has_died_first(leader: &io::Result<Leader>, process: Option<ProcRef>) -> bool {
    match (leader, process) {
        (Ok(leader), Some(process)) => leader.never_executed(process),
        _ => false,
    }
}

/// The leader that the journal names, by the descriptor that this process has held of it where it has.
fn find_leader(
    held: Option<(ProcRef, PidFd)>,
    ledger: &Ledger,
    leader: Option<ProcRef>,
) -> io::Result<Leader> {
    match leader {
        Some(process) => {
            let held = held.filter(|(known, _)| *known == process);
            Leader::find(process, held.map(|(_, pidfd)| pidfd), ledger.state())
        }
        None => Ok(Leader::Gone(leader::UNREADABLE)),
    }
}

/// What a pair could not be made for is said to be so, if nothing has run yet.
pub fn give_up(job: &JobDir, error: &io::Error) -> io::Result<()> {
    let mut ledger = Ledger::open(job).map_err(io::Error::other)?;
    if !matches!(ledger.state().phase, Phase::Accepted) {
        return Err(io::Error::new(error.kind(), error.to_string()));
    }
    let end = End::unseen(gate::failed("cannot supervise", error), 0, 0);
    let spec = job.read_spec().ok();
    ending::settle(job, spec.as_ref(), ledger.journal(), now(), end)
}
