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

/// The keeper that this process would replace.
#[derive(Debug)]
pub enum Predecessor {
    /// A keeper that this process forked.
    Child {
        pid: i32,
        /// The connection through which this process reports that it synced the job's names.
        syncing: Option<Syncing>,
    },
    /// The keeper that forked this process, and what that keeper knew about the names.
    Parent { pid: i32, finding: Finding },
}

/// What to do now that the keeper is gone.
#[derive(Debug)]
pub enum NextStep {
    TakeOver(Finding),
    /// The keeper has finished.
    Nothing,
}

/// Sleeps until the keeper is gone.
pub fn stand_by(of: Predecessor, shared: &mut Shared) -> io::Result<NextStep> {
    match of {
        Predecessor::Child { pid, syncing } => below(pid, syncing, shared),
        Predecessor::Parent { pid, finding } => above(pid, finding, shared),
    }
}

/// For a keeper that is a child of this process.
fn below(keeper: i32, syncing: Option<Syncing>, shared: &mut Shared) -> io::Result<NextStep> {
    let finding = match heed(keeper, shared, syncing) {
        // This process must not live on: its copy of the writer would prevent the job's input from ending.
        Err(error) if shared.channel.leash().is_some() => return Err(error),
        other => other.unwrap_or(Finding::Open),
    };
    Ok(match process::wait_for_child(keeper)? {
        Status::Exited { code: 0 } => NextStep::Nothing,
        _ => NextStep::TakeOver(finding),
    })
}

/// While the keeper lives: syncs the job's names, and closes its copy of the input's writer when the keeper says so.
/// In the foreground it also passes on signals and reaps children.
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
        // The leash does not close when the keeper dies, because a leader that waits at the gate has copies of it. So
        // the bell for the keeper's end is needed, too.
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

/// For a keeper that is the parent of this process.
fn above(keeper: i32, finding: Finding, shared: &mut Shared) -> io::Result<NextStep> {
    // Without the bell, the end of the keeper could not be noticed. If this fails, this process ends, and the keeper
    // forks another standby.
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
    // The exit code went to the keeper's own parent. So the journal says whether the keeper had finished.
    Ok(match shared.directory.read_journal() {
        Ok(journal) if journal.state.is_final() => NextStep::Nothing,
        _ => NextStep::TakeOver(finding),
    })
}
