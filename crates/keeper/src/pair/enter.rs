//! How the two processes of a pair come about, and taking over.
//!
//! The launched process cleans up what it inherited, opens what the pair shares, and forks the keeper. Then it is the
//! standby: it syncs the job's names to the disk, and sleeps. If the keeper dies, the standby becomes the keeper by the
//! same function: [`act`]. A keeper without a standby forks a new one (`partner.rs`), which runs the same code.

use crate::hooks::Role;
use crate::pair::front::Front;
use crate::pair::partner::{PairRole, Partner};
use crate::pair::shared::{FileId, Shared};
use crate::pair::standby::{self, NextStep, Predecessor};
use crate::start::begin::{Beginning, begin, give_up};
use crate::start::findable::{self, Finding};
use outlive_core::{JobDir, layout};
use outlive_sys::child::{self, Forked, GateInside};
use outlive_sys::lock::{self, Lock, LockResult};
use outlive_sys::process::Limits;
use outlive_sys::process::own::{self, HandedDown};
use outlive_sys::{offers, tree};
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
            front.take_place(&shared.directory);
        }
        part = match part {
            Part::Keeper(keeping) => match act(shared, keeping)? {
                PairRole::Keeper => return Ok(()),
                PairRole::Standby { of, finding } => {
                    Part::Standby(Predecessor::Parent { pid: of, finding })
                }
            },
            Part::Standby(of) => {
                let is_child = matches!(of, Predecessor::Parent { .. });
                match standby::stand_by(of, shared)? {
                    NextStep::TakeOver(finding) if shared.is_still_here() => {
                        shared.orphaned |= is_child;
                        shared.pause_before_taking_over();
                        Part::Keeper(Beginning::heir(finding))
                    }
                    NextStep::TakeOver(_) | NextStep::Nothing => return Ok(()),
                }
            }
        };
    }
}

/// What this process is to do.
enum Part {
    Keeper(Beginning),
    Standby(Predecessor),
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
    let placed = placed.and_then(|()| tree::become_subreaper());
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
    offers::required_calls().map_err(|(call, error)| {
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
        LockResult::Acquired(lock) => Some((lock, id)),
        LockResult::Held => None,
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
                partner: Partner::of_parent(standby),
                finding: finding.unwrap_or(Finding::Open),
            })
        }
        Ok(Forked::Parent(pid)) => Part::Standby(Predecessor::Child { pid, syncing }),
        // No room for two: one is better than none, and tries again.
        Err(_) => Part::Keeper(Beginning {
            role: Role::Keeper,
            inside: Some(inside),
            partner: Partner::alone_for_a_while(),
            finding: Finding::Open,
        }),
    }
}

/// Reads the journal and goes on from there. Every keeper comes through here; a standby that it has forked comes back.
fn act(shared: &mut Shared, beginning: Beginning) -> io::Result<PairRole> {
    // A keeper that its standby has forked is not one yet.
    tree::become_subreaper()?;
    match begin(shared, beginning)? {
        Some(keeper) => keeper.run(),
        None => Ok(PairRole::Keeper),
    }
}

/// Records that no pair could be made, before anything was taken from whoever started this process.
fn give_up_early(job: &JobDir, error: &io::Error) -> io::Result<()> {
    let lock = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    match take_lock(job, lock)? {
        Some(_lock) => give_up(job, error),
        None => Ok(()),
    }
}
