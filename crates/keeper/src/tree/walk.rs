//! Finding the job's processes while they die, fork and move.
//!
//! No system call lists all descendants of a process at one instant. A walk reads one list of children after the other.
//! If a process dies in between, its children move up to the nearest subreaper, perhaps into a list that was already
//! read, and the walk misses them. So the result of one pass is not trusted:
//!
//! ```text
//! pass ─somebody vanished───────────────────► pass again
//!   ├──nothing vanished, none found──────────► none: true when the keeper's own list was read
//!   ├──nothing vanished, same as last time───► these, and no others
//!   └──otherwise─────────────────────────────► pass again
//! ```
//! Why two passes with the same result: a process that dies before its parent's list is read is never seen, so nobody
//! notices that it vanished. But its children move up to a process that was seen, and the next pass finds them there.
//!
//! This module decides. What it reads is behind [`Processes`], so that a test can change everything between any two reads
//! (`walk/tests.rs`).

use outlive_core::ProcRef;
use std::collections::HashSet;
use std::io;

/// What a walk reads. Each call is one moment; what it says may be wrong by the next.
pub trait Processes {
    /// None for a process that is gone. An entry may be left out only if one before it is gone by now.
    fn children(&self, parent: i32) -> io::Result<Vec<i32>>;
    /// Every process there is.
    fn all(&self) -> io::Result<Vec<i32>>;
    fn look(&self, pid: i32) -> io::Result<Option<Look>>;
    /// Whether a descendant of the keeper is not the job's.
    fn is_foreign(&self, pid: i32) -> io::Result<bool>;
    /// Whether any process, wherever it is, is the job's.
    fn is_ours(&self, pid: i32) -> io::Result<bool>;
}

/// What there is to know of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub parent: i32,
    pub started: u64,
    /// It has ended, and nobody has waited for it.
    pub ended: bool,
}

/// Where the job's processes may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Below the keeper.
    Descendants,
    /// Anywhere: the keepers that they were below are dead.
    Anywhere,
}

/// The processes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProcesses {
    pub processes: HashSet<ProcRef>,
    pub sure: Sure,
}

/// Whether there may be others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    Yes,
    /// In every pass something vanished or changed.
    No,
}

/// Each pass after the second means that somebody died or forked during the one before. A tree that is being
/// stopped settles within three or four; one that forks without end never does, and its keeper must go on.
const MAX_PASSES: usize = 8;

/// Finds them, from the keeper on down. `ended` is a child of the keeper that has not been waited for.
pub fn find(
    processes: &impl Processes,
    range: Range,
    keeper: i32,
    ended: Option<i32>,
) -> io::Result<FoundProcesses> {
    let mut walk = Walk {
        processes,
        range,
        keeper,
        ended,
        past: HashSet::new(),
    };
    let mut ever = HashSet::new();
    let mut before = None;
    for _ in 0..MAX_PASSES {
        let Pass { living, vanished } = walk.pass()?;
        // A search of all processes takes long enough for one to pass by it, so it is done twice.
        let is_none = living.is_empty() && range == Range::Descendants;
        let is_same = before.as_ref() == Some(&living);
        if !vanished && (is_none || is_same) {
            return Ok(FoundProcesses {
                processes: living,
                sure: Sure::Yes,
            });
        }
        ever.extend(&living);
        before = Some(living);
    }
    Ok(FoundProcesses {
        processes: ever,
        sure: Sure::No,
    })
}

struct Walk<'a, P> {
    processes: &'a P,
    range: Range,
    keeper: i32,
    ended: Option<i32>,
    /// Entries of lists that were found to have ended, or that cannot be looked at though they stay in a list.
    /// They cannot vanish any more.
    past: HashSet<(i32, Option<u64>)>,
}

/// What one pass found.
#[derive(Default)]
struct Pass {
    living: HashSet<ProcRef>,
    /// A process that was seen, in a list or alive, ended or moved: others may have moved with it.
    vanished: bool,
}

impl<P: Processes> Walk<'_, P> {
    fn pass(&mut self) -> io::Result<Pass> {
        let mut pass = Pass::default();
        self.descend(self.keeper, &mut pass)?;
        if self.range == Range::Anywhere {
            self.search(&mut pass)?;
        }
        // A list is true if the process that it was read of is still there. And one that ended before its mark
        // was read may have been another job's.
        for process in pass.living.clone() {
            let look = self.processes.look(process.pid)?;
            if !look.is_some_and(|look| !look.ended && look.started == process.started) {
                pass.living.remove(&process);
                pass.vanished = true;
            }
        }
        Ok(pass)
    }

    /// Adds the descendants of `parent`.
    fn descend(&mut self, parent: i32, pass: &mut Pass) -> io::Result<()> {
        let mut parents = vec![parent];
        while let Some(parent) = parents.pop() {
            for child in self.processes.children(parent)? {
                let Some(process) = self.meet(child, Some(parent), pass)? else {
                    continue;
                };
                if !self.processes.is_foreign(child)? && pass.living.insert(process) {
                    parents.push(child);
                }
            }
        }
        Ok(())
    }

    /// Adds those that are the job's wherever they are, with their descendants.
    fn search(&mut self, pass: &mut Pass) -> io::Result<()> {
        for pid in self.processes.all()? {
            if !self.processes.is_ours(pid)? {
                continue;
            }
            if let Some(process) = self.meet(pid, None, pass)?
                && pass.living.insert(process)
            {
                self.descend(pid, pass)?;
            }
        }
        Ok(())
    }

    /// A process that was listed, as the child of `parent` where it was, if it lives and is still that.
    fn meet(
        &mut self,
        pid: i32,
        parent: Option<i32>,
        pass: &mut Pass,
    ) -> io::Result<Option<ProcRef>> {
        if self.ended == Some(pid) {
            return Ok(None);
        }
        let look = self.processes.look(pid)?;
        match look {
            Some(Look { ended: false, .. }) => {}
            // What is still listed in the next pass had not vanished.
            _ => {
                let known = !self.past.insert((pid, look.map(|look| look.started)));
                pass.vanished |= !known;
                return Ok(None);
            }
        }
        let here = look.filter(|look| parent.is_none_or(|parent| parent == look.parent));
        pass.vanished |= here.is_none();
        Ok(here.map(|look| ProcRef {
            pid,
            started: look.started,
        }))
    }
}

#[cfg(test)]
mod tests;
