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

/// What a walk reads. Each call reads one instant, and the answer may be wrong by the next call.
pub trait Processes {
    /// `None` for a process that is gone. An entry may be missing only if an entry before it is gone by now.
    fn children(&self, parent: i32) -> io::Result<Vec<i32>>;
    /// Every process there is.
    fn all(&self) -> io::Result<Vec<i32>>;
    fn look(&self, pid: i32) -> io::Result<Option<Look>>;
    /// Whether a descendant of the keeper does not belong to the job.
    fn is_foreign(&self, pid: i32) -> io::Result<bool>;
    /// Whether any process, wherever it is, belongs to the job.
    fn is_ours(&self, pid: i32) -> io::Result<bool>;
}

/// What a walk needs to know about one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub parent: i32,
    pub started: u64,
    /// It has ended and is not reaped.
    pub ended: bool,
}

/// Where the job's processes can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Among the descendants of the keeper.
    Descendants,
    /// Anywhere, because the keepers that they descended from are dead.
    Anywhere,
}

/// The result of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProcesses {
    pub processes: HashSet<ProcRef>,
    pub sure: Sure,
}

/// Whether the job may have more processes than were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    Yes,
    /// In every pass something vanished or changed, so there may be more.
    No,
}

/// A pass after the second is needed only if a process died or forked during the one before. A tree that is being
/// stopped settles within three or four passes. A tree that forks without end never settles, and the keeper must
/// continue.
const MAX_PASSES: usize = 8;

/// Finds the job's processes. `ended` is a child of the keeper that has ended and is not reaped.
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
        // A search of all processes takes so long that a process can evade it, so it is done twice.
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
    /// Listed processes that had ended, or that cannot be looked at although they stay in a list. They cannot vanish
    /// any more.
    past: HashSet<(i32, Option<u64>)>,
}

/// The result of one pass.
#[derive(Default)]
struct Pass {
    living: HashSet<ProcRef>,
    /// A process that was seen has vanished, ended or moved. Its children may have moved, too.
    vanished: bool,
}

impl<P: Processes> Walk<'_, P> {
    fn pass(&mut self) -> io::Result<Pass> {
        let mut pass = Pass::default();
        self.descend(self.keeper, &mut pass)?;
        if self.range == Range::Anywhere {
            self.search(&mut pass)?;
        }
        // A list can be trusted if its process is still there. And a process that ended before its mark was read may
        // have belonged to another job.
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

    /// Adds the job's processes wherever they are, with their descendants.
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

    /// Looks at a listed process. `None` if it has ended or is not a child of `parent` any more.
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
            // If it is still listed in the next pass, it had not vanished.
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
