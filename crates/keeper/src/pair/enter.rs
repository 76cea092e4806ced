//! How the two processes of a pair are created, and how one takes over.
//!
//! The launched process cleans up what it inherited, opens what the pair shares, and forks the keeper. Then it is the
//! standby: it syncs the job's names to the disk, and sleeps. If the keeper dies, the standby becomes the keeper
//! through the same function: [`act`]. A keeper without a standby forks a new one (`partner.rs`), which runs the same
//! code.

use crate::hooks::Role;
use crate::pair::front::Front;
use crate::pair::partner::{PairRole, Partner};
use crate::pair::shared::{FileId, Shared};
use crate::pair::standby::{self, NextStep, Predecessor};
use crate::start::begin::{Beginning, begin, give_up};
use crate::start::confine;
use crate::start::findable::{self, Finding};
use outlive_core::{JobDir, layout};
use outlive_sys::child::{self, Forked, GateInside};
use outlive_sys::lock::{self, Lock, LockResult};
use outlive_sys::process::Limits;
use outlive_sys::process::own::{self, HandedDown};
use outlive_sys::{offers, tree};
use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::os::fd::AsFd;
use std::path::Path;

/// Supervises the job in this directory until nothing of it is left. Returns the exit code.
///
/// Standard input is the job's lock file, locked. If it is not, the lock is taken here. A byte is written to standard
/// output as soon as the command has been executed or could not be.
pub fn run(directory: &Path) -> i32 {
    let entered = std::path::absolute(directory).and_then(|path| {
        let job = JobDir::at(path);
        match settle_in(&job)? {
            Some(_) if !is_on_its_own() => Ok(()),
            Some(handed) => enter(&job, handed, own::new_session(), &mut None),
            None => Ok(()),
        }
    });
    match entered {
        Ok(()) => 0,
        // Nobody can be told. The launcher sees its pipe close, and looks at the job.
        Err(_) => 1,
    }
}

/// Forks, and returns true in the process that goes on: nobody's descendant, because its parent ends now. Some agents end
/// all descendants of an MCP server or of a shell that they started, and the launcher may be one of those.
///
/// The process that ends has the job's mark. A keeper that adopts the job searches for that mark, so it must not find this
/// process: the other one waits until the kernel has closed what it had open, which is after its environment is gone.
fn is_on_its_own() -> bool {
    // If no process can be created, the next fork fails, too, and that is recorded.
    let parent = io::pipe();
    match child::fork_here() {
        Ok(Forked::Parent(_)) => {
            // The kernel closes it, and not before.
            mem::forget(parent);
            false
        }
        Ok(Forked::Child) => {
            if let Ok((mut end, held)) = parent {
                drop(held);
                let _ = end.read(&mut [0]);
            }
            true
        }
        Err(_) => true,
    }
}

/// Supervises the job until nothing of it is left. Also returns in every process that was forked here. If this process
/// could not be `placed` in its own session, the job is not started.
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
    // The lock is held until this process ends, so everything is recorded before it is released.
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

/// What this process is.
enum Part {
    Keeper(Beginning),
    Standby(Predecessor),
}

/// Takes the descriptors that were handed down, and blocks signals. `None` if they cannot be taken, which is recorded.
pub fn settle_in(job: &JobDir) -> io::Result<Option<HandedDown>> {
    let handed = match own::take_handed_down() {
        Err(error) => return give_up_early(job, &error).map(|()| None),
        Ok(handed) => handed,
    };
    own::quiet_signals()?;
    Ok(Some(handed))
}

/// Opens what both processes share. `None` if another pair has the job, or if opening fails, which is recorded.
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
    if spec.limits.want_group() {
        // If that fails, the job is limited in another way, or not started.
        let _ = confine::settle(job);
    }
    let limits = Limits::lift().ok();
    // This stays open until a failure is recorded: the launcher looks at the job when it closes.
    let ready = handed.output;
    match placed
        .and_then(|()| try_calls())
        .and_then(|()| Shared::open(job.clone(), id, spec, &ready, limits))
    {
        Ok((shared, inside)) => Ok(Some((lock, shared, inside))),
        Err(error) => give_up(job, &error).map(|()| None),
    }
}

/// Fails on a system on which a job could be started but not supervised.
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

/// Takes the lock that was handed down, or opens and takes the job's own. `None` if another pair has it.
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

/// Forks the keeper. This process is its standby then. A standby that is a front handles signals, so it must not sync
/// names: a slow disk would block it.
fn become_two(inside: GateInside, is_front: bool) -> Part {
    let standby = own::pid();
    // A keeper without this connection syncs the names itself.
    let sides = (!is_front).then(findable::both_sides);
    let (finding, syncing) = sides.and_then(Result::ok).unzip();
    match child::fork_here() {
        Ok(Forked::Child) => {
            // Only the standby may hold this end, so that the connection closes when the standby ends.
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
        // No second process can be created now. A keeper alone is better than none, and it tries again later.
        Err(_) => Part::Keeper(Beginning {
            role: Role::Keeper,
            inside: Some(inside),
            partner: Partner::alone_for_a_while(),
            finding: Finding::Open,
        }),
    }
}

/// Reads the journal and continues from there. Every keeper runs this. It also returns in a standby that the keeper
/// has forked.
fn act(shared: &mut Shared, beginning: Beginning) -> io::Result<PairRole> {
    // A forked keeper does not inherit this from its standby.
    tree::become_subreaper()?;
    match begin(shared, beginning)? {
        Some(keeper) => keeper.run(),
        None => Ok(PairRole::Keeper),
    }
}

/// Records that no pair could be created. Called before the inherited descriptors are taken.
fn give_up_early(job: &JobDir, error: &io::Error) -> io::Result<()> {
    let lock = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    match take_lock(job, lock)? {
        Some(_lock) => give_up(job, error),
        None => Ok(()),
    }
}
