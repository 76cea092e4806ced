//! How the two processes come about, and taking over.
//!
//! The launched process makes itself a clean place to live in, opens what both will share, and forks
//! the keeper. Then it is the standby: it makes the job's names last, and sleeps. If the keeper ends any
//! other way than by having finished, the standby does what the keeper did: [`act`]. A keeper that is alone forks
//! itself a new standby (`company.rs`), which then comes through here like the first.

use crate::errands::lock_wait::{Now, Turn};
use crate::hooks::{Hook, Role};
use crate::pair::company::{Company, Which};
use crate::pair::front::Front;
use crate::pair::shared::{FileId, Shared};
use crate::pair::standby::{self, Next, Of};
use crate::start::findable::{self, Finding};
use crate::start::gate::{self, Unwritten};
use crate::start::leader::{self, Leader};
use crate::start::tools::{self, Tools};
use crate::supervise::keeper::Keeper;
use crate::supervise::ledger::{Ledger, now};
use outlive_core::ending;
use outlive_core::event::{Event, Keeping};
use outlive_core::outcome::End;
use outlive_core::{JobDir, Phase, ProcRef, Spec, layout};
use outlive_sys::child::{self, Forked, Gate, GateInside};
use outlive_sys::limits::Limits;
use outlive_sys::lock::{self, Lock, Locked};
use outlive_sys::own::{self, HandedDown};
use outlive_sys::pidfd::PidFd;
use outlive_sys::{clock, probe, procfs};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Supervises the job in this directory until nothing of it is left; returns the exit code.
///
/// Standard input is the job's lock file, locked (else the lock is taken here); something is written
/// to standard output as soon as the command has been executed or could not be.
pub fn run(directory: &Path) -> i32 {
    let entered = std::path::absolute(directory).and_then(|path| {
        let job = JobDir::at(path);
        match settle_in(&job)? {
            Some(handed) => enter(&job, handed, own::new_session(), &mut None),
            None => Ok(()),
        }
    });
    match entered {
        Ok(()) => 0,
        // There is nobody to tell: whoever waits on the other end sees it close, and looks.
        Err(_) => 1,
    }
}

/// Keeps the job until nothing of it is left. Returns in every process that it has forked, too. Where this process
/// could not be `placed` as it should, the job is not started.
pub fn enter(
    job: &JobDir,
    handed: HandedDown,
    placed: io::Result<()>,
    front: &mut Option<Box<Front>>,
) -> io::Result<()> {
    let Some((_lock, mut shared, inside)) = open(job, handed, placed)? else {
        return Ok(());
    };
    shared.front = front.take();
    // The lock is held until this process ends, so whatever is to be written down is by then.
    let kept = keep(&mut shared, inside);
    *front = shared.front.take();
    kept
}

fn keep(shared: &mut Shared, inside: GateInside) -> io::Result<()> {
    let mut part = become_two(inside, shared.front.is_some());
    loop {
        if let Some(front) = &mut shared.front {
            front.take_place(&shared.job);
        }
        part = match part {
            Part::Keeper(keeping) => match act(shared, keeping)? {
                Which::Keeper => return Ok(()),
                Which::Standby { of, finding } => Part::Standby(Of::Parent { pid: of, finding }),
            },
            Part::Standby(of) => {
                let is_child = matches!(of, Of::Parent { .. });
                match standby::stand_by(of, shared)? {
                    Next::TakeOver(finding) if shared.is_still_here() => {
                        shared.orphaned |= is_child;
                        shared.pause_before_taking_over();
                        Part::Keeper(Beginning::heir(finding))
                    }
                    Next::TakeOver(_) | Next::Nothing => return Ok(()),
                }
            }
        };
    }
}

/// What this process is to do.
enum Part {
    Keeper(Beginning),
    Standby(Of),
}

/// How a process becomes the keeper.
struct Beginning {
    role: Role,
    inside: Option<GateInside>,
    company: Company,
    finding: Finding,
}

impl Beginning {
    fn heir(finding: Finding) -> Beginning {
        Beginning {
            role: Role::Heir,
            inside: None,
            company: Company::NOBODY,
            finding,
        }
    }
}

/// A clean place to live in, and what was handed down; nothing where that cannot be taken, which is recorded.
pub fn settle_in(job: &JobDir) -> io::Result<Option<HandedDown>> {
    let handed = match own::take_handed_down() {
        Err(error) => return give_up_early(job, &error).map(|()| None),
        Ok(handed) => handed,
    };
    own::quiet_signals()?;
    Ok(Some(handed))
}

/// What both will share; nothing where another pair has the job, or none can be made for it.
///
/// Kept out of line: its large stack frame must not stay allocated while the pair sleeps.
#[inline(never)]
fn open(
    job: &JobDir,
    handed: HandedDown,
    placed: io::Result<()>,
) -> io::Result<Option<(Lock, Shared, GateInside)>> {
    let placed = placed.and_then(|()| own::become_subreaper());
    std::env::set_current_dir("/")?;
    let Some((lock, id)) = take_lock(job, handed.input)? else {
        return Ok(None);
    };
    let spec = job.read_spec().map_err(io::Error::other)?;
    let limits = Limits::lift().ok();
    // Whoever waits at its other end is not to look before a failure is written down.
    let ready = handed.output;
    match placed
        .and_then(|()| try_calls())
        .and_then(|()| Shared::open(job.clone(), id, spec, &ready, limits))
    {
        Ok((shared, inside)) => Ok(Some((lock, shared, inside))),
        Err(error) => give_up(job, &error).map(|()| None),
    }
}

/// Refuses a system on which a job could be started and not be supervised.
///
/// Kept out of line, as `open` is.
#[inline(never)]
fn try_calls() -> io::Result<()> {
    probe::required_calls().map_err(|(call, error)| {
        io::Error::other(format!(
            "no job can be supervised here, since this system refuses the call {call}: {error}"
        ))
    })
}

/// The lock that was handed down, or the job's own; `None` when another pair has it.
fn take_lock(job: &JobDir, handed: File) -> io::Result<Option<(Lock, FileId)>> {
    let path = job.lock();
    let own = FileId::at(&path).ok();
    let (file, id) = match (own, FileId::of(&handed)) {
        (Some(own), Ok(handed_id)) if own == handed_id => (handed, own),
        _ => {
            let file = layout::open_or_make(&path)?;
            let id = FileId::of(&file)?;
            (file, id)
        }
    };
    Ok(match lock::take(file)? {
        Locked::Mine(lock) => Some((lock, id)),
        Locked::Taken => None,
    })
}

/// Forks the keeper; this process is its standby then. One that is a front hears what is asked of it, and no disk may
/// hold it up.
fn become_two(inside: GateInside, is_front: bool) -> Part {
    let standby = own::pid();
    // A keeper that would not hear of it sees to it itself.
    let sides = (!is_front).then(findable::both_sides);
    let (finding, syncing) = sides.and_then(Result::ok).unzip();
    match child::fork_here() {
        Ok(Forked::Child) => {
            // The standby's alone, so that it ends with that.
            drop(syncing);
            let _ = own::new_session();
            Part::Keeper(Beginning {
                role: Role::Keeper,
                inside: Some(inside),
                company: Company::of_parent(standby),
                finding: finding.unwrap_or(Finding::Open),
            })
        }
        Ok(Forked::Parent(pid)) => Part::Standby(Of::Child { pid, syncing }),
        // No room for two: one is better than none, and tries again.
        Err(_) => Part::Keeper(Beginning {
            role: Role::Keeper,
            inside: Some(inside),
            company: Company::alone_for_a_while(),
            finding: Finding::Open,
        }),
    }
}

/// Reads the journal and goes on from there. Every keeper comes through here; a standby that it has forked comes back.
fn act(shared: &mut Shared, beginning: Beginning) -> io::Result<Which> {
    // A keeper that its standby has forked is not one yet.
    own::become_subreaper()?;
    match begin(shared, beginning)? {
        Some(keeper) => keeper.run(),
        None => Ok(Which::Keeper),
    }
}

/// A keeper for the job as it stands; none where the job cannot be started.
///
/// Kept out of line: its large stack frame must not stay allocated while the keeper sleeps.
#[inline(never)]
fn begin(shared: &mut Shared, beginning: Beginning) -> io::Result<Option<Box<Keeper<'_>>>> {
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
    let leader = match ledger.state().phase.clone() {
        // A predecessor died over it.
        Phase::Accepted if early_stop => Leader::NotStarted(gate::stopped(&shared.spec)),
        Phase::Accepted if turn(shared)? == Now::Taken => {
            // Made before a standby is forked, which must have it when the turn comes.
            inside = Some(inside_of_gate(shared, inside.take())?);
            Leader::Waiting
        }
        Phase::Accepted => match forked {
            Some(forked) => bring_to_program(role, shared, &mut ledger, forked)?,
            None => start_leader(role, shared, &mut ledger, inside.take())?,
        },
        Phase::Spawned(leader) => finish_start(role, shared, &mut ledger, leader.process)?,
        phase => {
            // Its predecessors' lock went with them, unless somebody has it now.
            let _ = turn(shared);
            find_leader(held, &ledger, phase.leader().map(|leader| leader.process))?
        }
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

/// Whether a job that is to have a lock has it; others need not ask.
fn turn(shared: &Shared) -> io::Result<Now> {
    shared.turn.as_ref().map_or(Ok(Now::Mine), Turn::take)
}

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
            if !procfs::is_executing(leader.pid) {
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

/// The same before anything was taken from whoever started this process.
fn give_up_early(job: &JobDir, error: &io::Error) -> io::Result<()> {
    let lock = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    match take_lock(job, lock)? {
        Some(_lock) => give_up(job, error),
        None => Ok(()),
    }
}

/// What a pair could not be made for is said to be so, if nothing has run yet.
fn give_up(job: &JobDir, error: &io::Error) -> io::Result<()> {
    let mut ledger = Ledger::open(job).map_err(io::Error::other)?;
    if !matches!(ledger.state().phase, Phase::Accepted) {
        return Err(io::Error::new(error.kind(), error.to_string()));
    }
    let end = End::unseen(gate::failed("cannot supervise", error), 0, 0);
    let spec = job.read_spec().ok();
    ending::settle(job, spec.as_ref(), ledger.journal(), now(), end)
}
