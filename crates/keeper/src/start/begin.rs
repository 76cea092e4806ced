//! A process becomes the keeper: it reads the journal and starts the job, or finds what a predecessor started.
//!
//! ```text
//!  journal says   the keeper
//!  Accepted       forks a leader and brings it to its program, or waits for the job's turn
//!  Spawned        a predecessor died while it started the leader: finishes that
//!  Backoff        waits for the time of the next attempt
//!  later          finds the leader that the journal names
//! ```
//! The leader is forked first, and makes itself ready while this process opens what a keeper needs.

use crate::clock;
use crate::errands::lock_wait::NamedLock;
use crate::hooks::{Hook, Role};
use crate::pair::partner::Partner;
use crate::pair::shared::Shared;
use crate::start::confine;
use crate::start::findable::Finding;
use crate::start::gate::{self, Unwritten};
use crate::start::leader::{self, Leader};
use crate::start::tools::{self, Tools};
use crate::supervise::keeper::Keeper;
use crate::supervise::kept_job::KeptJob;
use crate::supervise::ledger::Ledger;
use crate::supervise::memory;
use crate::turns;
use outlive_core::ending;
use outlive_core::event::{Event, Keeping};
use outlive_core::outcome::{End, Outcome};
use outlive_core::restart::Environment;
use outlive_core::{JobDir, Phase, ProcRef};
use outlive_sys::child::{self, GateInside};
use outlive_sys::process::{self, PidFd};
use std::io;

/// What a process needs to become the keeper.
#[derive(Debug)]
pub struct Beginning {
    pub role: Role,
    pub inside: Option<GateInside>,
    pub partner: Partner,
    pub finding: Finding,
}

impl Beginning {
    pub fn heir(finding: Finding) -> Beginning {
        Beginning {
            role: Role::Heir,
            inside: None,
            partner: Partner::NOBODY,
            finding,
        }
    }
}

/// Becomes the keeper of the job, whatever the journal says. `None` if the job cannot be started.
///
/// Kept out of line: its large stack frame must not stay allocated while the keeper sleeps.
#[inline(never)]
pub fn begin(shared: &mut Shared, beginning: Beginning) -> io::Result<Option<Box<Keeper<'_>>>> {
    let Beginning {
        role,
        mut inside,
        partner,
        finding,
    } = beginning;
    if role == Role::Heir {
        shared.begun = clock::now();
        shared.take_parked_gate()?;
    }
    let held = shared.leader.take();
    role.reach(Hook::Begun);
    let ledger = Ledger::open(&shared.directory).map_err(io::Error::other)?;
    let mut job = KeptJob {
        role,
        shared,
        ledger,
    };
    let how = match (role, &job.state().phase) {
        (Role::Heir, _) => Keeping::TakenOver,
        (Role::Keeper, Phase::Accepted) => Keeping::Launched,
        (Role::Keeper, _) => Keeping::Adopted,
    };
    let early_stop = job.state().is_stopped_early();
    let mut forked = None;
    if let (Phase::Accepted, false, false) = (&job.state().phase, job.spec().may_wait(), early_stop)
    {
        // It prepares itself while this process does. If this process fails, the gate closes and the leader ends.
        let inside = inside_of_gate(job.shared, inside.take())?;
        forked = Some(fork_leader(&mut job, inside));
    }
    // The journal names the keepers for information only, so a full disk must not stop the keeper here.
    let _ = tools::kept(how, partner.pid()).and_then(|event| job.ledger.write(&[event]));
    let tools = match Tools::new(role, job.shared, job.state()) {
        // Nothing has run yet, so the reason of the failure is the job's outcome.
        Err(error) if job.state().phase == Phase::Accepted => {
            return give_up(&job.shared.directory, &error).map(|()| None);
        }
        other => other?,
    };
    let leader = match forked {
        Some(forked) => bring_to_program(&mut job, forked, None)?,
        None => find_or_start(&mut job, held, inside)?,
    };
    if how == Keeping::Adopted && !job.has_ended() {
        job.retake_turns();
    }
    if how == Keeping::Adopted {
        // The bell of the dead pair is gone.
        memory::listen(&job);
    }
    job.reach(Hook::Started);
    // The leader of an adopted job may have ended. That must be recorded first.
    if leader.awaited().is_some() && how != Keeping::Adopted {
        job.shared.ring_ready();
    }
    Ok(Some(Keeper::new(job, tools, leader, how, partner, finding)))
}

/// Finds the leader that the journal names. If there was none, starts one, unless the job has to wait for its turn.
fn find_or_start(
    job: &mut KeptJob,
    held: Option<(ProcRef, PidFd)>,
    inside: Option<GateInside>,
) -> io::Result<Leader> {
    match job.state().phase.clone() {
        // A predecessor died while it stopped the job.
        Phase::Accepted if job.state().is_stopped_early() => {
            Ok(Leader::NotStarted(gate::stopped(job.spec())))
        }
        Phase::Accepted => match turns::take(job) {
            // Made before a standby is forked, which needs it when the turn comes.
            Ok(Some(_)) => {
                inside_of_gate(job.shared, inside).map(|inside| Leader::Waiting(Some(inside)))
            }
            Ok(None) => start_leader(job, inside, None),
            Err(error) => Ok(Leader::NotStarted(gate::failed(
                "cannot wait for its turn",
                &error,
            ))),
        },
        Phase::Backoff { .. } => Ok(between_attempts(job)),
        Phase::Spawned(leader) => finish_start(job, leader.process),
        phase => {
            // The predecessors' lock was released when they died. Take it again, unless another job has it now.
            let _ = job.shared.named_lock.as_ref().map(NamedLock::take);
            let leader = phase.leader().map(|leader| leader.process);
            find_leader(held, job, leader)
        }
    }
}

/// Starts a new leader, whose output begins at `output` if it is not the first. Returns when it executes its program or
/// could not.
pub(crate) fn start_leader(
    job: &mut KeptJob,
    inside: Option<GateInside>,
    output: Option<u64>,
) -> io::Result<Leader> {
    let inside = match (inside_of_gate(job.shared, inside), output) {
        (Ok(inside), Some(_)) => {
            job.reach(Hook::GateParked);
            inside
        }
        // Another attempt may follow. Trying the same again and again would never end.
        (Err(error), Some(_)) => return Ok(Leader::NotStarted(cannot_start(&error))),
        (inside, None) => inside?,
    };
    let forked = fork_leader(job, inside);
    bring_to_program(job, forked, output)
}

/// A predecessor died in the pause between two attempts.
fn between_attempts(job: &KeptJob) -> Leader {
    // Without the job's environment there is no next attempt.
    let goes_on = job.shared.environment == Environment::OfTheJob;
    match goes_on && !job.state().is_stopped_early() {
        true => Leader::Between,
        false => Leader::attempted(job.state()),
    }
}

/// The leader's side of the gate. If it is used up, creates a new gate.
fn inside_of_gate(shared: &mut Shared, inside: Option<GateInside>) -> io::Result<GateInside> {
    if let Some(inside) = inside {
        return Ok(inside);
    }
    // This closes the predecessor's gate, which ends a leader that waits there and is not in the journal.
    let (gate, inside) = child::gate()?;
    // If this process is killed at any moment from here on, its successor must be able to open this gate.
    if let Some(parking) = &shared.parking {
        parking.leave(&gate)?;
    }
    shared.gate = gate;
    Ok(inside)
}

/// Forks a leader, which waits at the gate.
fn fork_leader(job: &mut KeptJob, inside: GateInside) -> io::Result<Unwritten> {
    confine::prepare(job)?;
    let (directory, spec) = job.shared.asked();
    let ends = job.shared.channel.leader_ends(directory, spec.streams)?;
    let limits = confine::of_each_process(job)?;
    gate::fork(job.role, job.shared, limits, inside, ends)
}

fn bring_to_program(
    job: &mut KeptJob,
    forked: io::Result<Unwritten>,
    output: Option<u64>,
) -> io::Result<Leader> {
    match forked.and_then(|leader| leader.write_down(&mut job.ledger, output)) {
        Ok(()) => pass_gate(job),
        Err(error) => Ok(Leader::NotStarted(cannot_start(&error))),
    }
}

fn cannot_start(error: &io::Error) -> Outcome {
    gate::failed("cannot start a process", error)
}

/// A predecessor died after it journaled the leader and before it learned that the program runs.
fn finish_start(job: &mut KeptJob, leader: ProcRef) -> io::Result<Leader> {
    match job.role {
        Role::Heir => pass_gate(job),
        Role::Keeper => {
            // Both keepers died. A leader at the gate also holds their lock, and ends without having run. So a leader
            // that runs now, while this keeper has the lock, has executed its program. If it has ended, nobody can
            // know whether it ran.
            if !process::is_executing(leader.pid) {
                return Ok(Leader::Gone(leader::STARTING));
            }
            let found = find_leader(None, job, Some(leader))?;
            if found.awaited().is_some() {
                job.ledger
                    .journal()
                    .append(clock::moment(), &[Event::Started])?;
            }
            Ok(found)
        }
    }
}

/// Completes a start of this keeper that failed after its leader was journaled.
pub(crate) fn complete_start(job: &mut KeptJob) -> io::Result<Leader> {
    match job.state().phase.clone() {
        Phase::Spawned(_) => pass_gate(job),
        phase => find_leader(None, job, phase.leader().map(|leader| leader.process)),
    }
}

fn pass_gate(job: &mut KeptJob) -> io::Result<Leader> {
    let process = job.state().phase.leader().map(|leader| leader.process);
    // Find it while it waits at the gate: it may not be a child of this process, and may be gone soon after.
    let leader = match (job.role, process) {
        (Role::Keeper, Some(process)) => Leader::child(process.pid),
        _ => find_leader(None, job, process),
    };
    if let Some(process) = process
        && let Err(error) = confine::put_under(job.spec(), job.state(), process)
    {
        return Ok(Leader::NotStarted(gate::failed("cannot limit it", &error)));
    }
    job.reach(Hook::PutUnder);
    // The job may run from here on. This process may learn of that late, and the job may even have ended by then.
    let started = clock::moment();
    match gate::open_gate(job.role, &job.shared.gate, job.spec())? {
        Err(outcome) => Ok(Leader::NotStarted(outcome)),
        // The gate also closes if the leader is killed while it waits.
        Ok(()) if has_died_first(&leader, process) => Ok(Leader::NotStarted(gate::killed_first())),
        Ok(()) => {
            job.ledger.journal().append(started, &[Event::Started])?;
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

/// The leader that the journal names. If this process has held a descriptor of it, that is used.
fn find_leader(
    held: Option<(ProcRef, PidFd)>,
    job: &KeptJob,
    leader: Option<ProcRef>,
) -> io::Result<Leader> {
    match leader {
        Some(process) => {
            let held = held.filter(|(known, _)| *known == process);
            let held = held.map(|(_, pidfd)| pidfd);
            Leader::find(process, held, job.state(), job.spec())
        }
        None => Ok(Leader::Gone(leader::UNREADABLE)),
    }
}

/// Records that no pair could be created, if the job's program has not run yet.
pub fn give_up(job: &JobDir, error: &io::Error) -> io::Result<()> {
    let mut ledger = Ledger::open(job).map_err(io::Error::other)?;
    if !matches!(ledger.state().phase, Phase::Accepted) {
        return Err(io::Error::new(error.kind(), error.to_string()));
    }
    let end = End::unseen(gate::failed("cannot supervise", error), 0, 0);
    let spec = job.read_spec().ok();
    ending::settle(job, spec.as_ref(), ledger.journal(), clock::moment(), end)
}
