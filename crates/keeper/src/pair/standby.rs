//! The standby: it sleeps until the keeper is gone, and then becomes the keeper.
//!
//! The first standby is the keeper's parent. Every later one is a child that a keeper forked because it had no standby
//! (`partner.rs`). The kernel tells each of them when the other has ended, so neither polls.

use crate::pair::shared::Shared;
use crate::start::findable::{self, Finding, Syncing};
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::own::{self, Bell};
use outlive_sys::process::{self, Status};
use std::io;
use std::iter;
use std::os::fd::AsFd;
use std::time::Instant;

/// Whose place this process would take.
#[derive(Debug)]
pub enum Predecessor {
    /// A keeper that this process has forked.
    Child {
        pid: i32,
        /// To make the job's names last for it.
        syncing: Option<Syncing>,
    },
    /// The keeper that has forked this process, and what that one had found out.
    Parent { pid: i32, finding: Finding },
}

/// What there is to do now that the keeper is gone.
#[derive(Debug)]
pub enum NextStep {
    TakeOver(Finding),
    /// It had finished.
    Nothing,
}

/// Sleeps as long as the keeper lives.
pub fn stand_by(of: Predecessor, shared: &mut Shared) -> io::Result<NextStep> {
    match of {
        Predecessor::Child { pid, syncing } => below(pid, syncing, shared),
        Predecessor::Parent { pid, finding } => above(pid, finding, shared),
    }
}

/// The keeper is a child of this process.
fn below(keeper: i32, syncing: Option<Syncing>, shared: &mut Shared) -> io::Result<NextStep> {
    let finding = match heed(keeper, shared, syncing) {
        // Its copy would keep the job's input from ever ending.
        Err(error) if shared.channel.leash().is_some() => return Err(error),
        other => other.unwrap_or(Finding::Open),
    };
    Ok(match process::wait_for_child(keeper)? {
        Status::Exited { code: 0 } => NextStep::Nothing,
        _ => NextStep::TakeOver(finding),
    })
}

/// While the keeper lives: makes the job's names last, and lets go of the job's input when it is told to. In the
/// foreground manner it also hears what is asked of the pair's first process, and lets go of its children.
fn heed(keeper: i32, shared: &mut Shared, mut syncing: Option<Syncing>) -> io::Result<Finding> {
    let mut finding = Finding::Open;
    let begins = Instant::now() + findable::MOMENT;
    let bell = Bell::for_relatives()?;
    loop {
        let leash = shared.channel.leash().map(AsFd::as_fd);
        if leash.is_none() && syncing.is_none() && shared.front.is_none() {
            return Ok(finding);
        }
        let is_leashed = leash.is_some();
        // What the leash is tugged through does not close with the keeper: a leader that waits to be
        // written down has copies.
        let asked = shared.front.as_ref().map(|front| front.bell());
        let on = iter::once(bell.as_fd()).chain(leash).chain(asked);
        let on: Vec<_> = on.map(|fd| (fd, Interest::Readable)).collect();
        let until = syncing
            .is_some()
            .then(|| begins.saturating_duration_since(Instant::now()));
        let ready = poll::wait(&on, until)?;
        if let Some(front) = &mut shared.front {
            front.pass_on(keeper);
        }
        match ready.as_slice() {
            [true, ..] => {
                bell.quiet();
                if let Some(front) = &mut shared.front {
                    front.let_children_go(&shared.directory, keeper);
                }
                if process::has_child_ended(keeper)? {
                    return Ok(finding);
                }
            }
            [_, true, ..] if is_leashed => shared.channel.obey(),
            _ => {}
        }
        let due = syncing.take_if(|_| Instant::now() >= begins);
        finding = due.map_or(finding, |due| due.see_to(&shared.directory, &shared.spec));
    }
}

/// The keeper is the parent of this process.
fn above(keeper: i32, finding: Finding, shared: &mut Shared) -> io::Result<NextStep> {
    // Without this it would never be known that the keeper is gone. It makes another standby then.
    let bell = Bell::for_relatives()?;
    match own::hear_of_parent(keeper) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    while own::parent_pid() == Some(keeper) {
        let leash = shared.channel.leash().map(AsFd::as_fd);
        let on = iter::once(bell.as_fd()).chain(leash);
        let on: Vec<_> = on.map(|fd| (fd, Interest::Readable)).collect();
        match poll::wait(&on, None)?.as_slice() {
            [true, ..] => bell.quiet(),
            [_, true] => shared.channel.obey(),
            _ => {}
        }
    }
    // Its exit code went to its own parent, so the journal says whether it had finished.
    Ok(match shared.directory.read_journal() {
        Ok(journal) if journal.state.is_final() => NextStep::Nothing,
        _ => NextStep::TakeOver(finding),
    })
}
