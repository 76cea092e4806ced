//! A process table that changes whenever it is read.
//!
//! It follows the rules of Linux. The children of a process that dies move to its nearest living ancestor that is a
//! subreaper. An ended process stays until its parent reaps it. The kernel lists children entry by entry, and if the
//! last listed one is gone, it continues by position (`get_children_pid` in fs/proc/array.c). A free number is used
//! again.

use super::super::{FoundProcesses, Look, MAX_PASSES, Processes, Range, Sure};
use outlive_core::ProcRef;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io;

const INIT: i32 = 1;
pub const KEEPER: i32 = 2;
/// So few that pids are used again.
const MAX_PROCESSES: i32 = 24;

/// The mark of a process. A forked process inherits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Ours,
    /// The mark of another job that has a keeper.
    Foreign,
    /// The process was started without its environment, or has nothing to do with any job.
    None,
}

/// What may happen between two reads. The number picks one of the processes to which it can happen.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Die(usize),
    Fork(usize),
    /// A parent reaps a child that has ended.
    Reap(usize),
    BecomeSubreaper(usize),
}

/// A process that exists at the beginning. `parent` picks its parent among the earlier ones.
#[derive(Clone, Copy, Debug)]
struct Seed {
    parent: usize,
    mark: Mark,
    subreaper: bool,
    /// It reaps its children as soon as they end.
    reaps: bool,
}

/// The processes at the beginning, and what happens before each read.
#[derive(Clone, Debug)]
pub struct Case {
    seeds: Vec<Seed>,
    happenings: Vec<Vec<Happening>>,
    range: Range,
}

impl Case {
    /// A parent that dies during the walk, and its child that lives on.
    pub fn parent_dies_in_between() -> Case {
        let seed = |parent| Seed {
            parent,
            mark: Mark::Ours,
            subreaper: false,
            reaps: false,
        };
        Case {
            seeds: vec![seed(0), seed(1)],
            // The keeper's list is read in two steps, and then the parent is looked at. After that the parent dies.
            happenings: vec![vec![], vec![], vec![], vec![Happening::Die(0)]],
            range: Range::Descendants,
        }
    }
}

pub fn case(range: Range) -> impl Strategy<Value = Case> {
    let mark = match range {
        Range::Descendants => {
            prop_oneof![6 => Just(Mark::Ours), 1 => Just(Mark::None), 1 => Just(Mark::Foreign)]
        }
        Range::Anywhere => {
            prop_oneof![3 => Just(Mark::Ours), 2 => Just(Mark::None), 1 => Just(Mark::Foreign)]
        }
    };
    // Mostly chains: only in a long chain can a process move to where the walk has been.
    let parent = prop_oneof![2 => Just(usize::MAX), 1 => any::<usize>()];
    let seed = (parent, mark, prop::bool::weighted(0.2), any::<bool>()).prop_map(
        |(parent, mark, subreaper, reaps)| Seed {
            parent,
            mark,
            subreaper,
            reaps,
        },
    );
    let happening = prop_oneof![
        4 => any::<usize>().prop_map(Happening::Die),
        3 => any::<usize>().prop_map(Happening::Fork),
        2 => any::<usize>().prop_map(Happening::Reap),
        1 => any::<usize>().prop_map(Happening::BecomeSubreaper),
    ];
    // Mostly nothing happens between two reads. Otherwise no process would be left to find.
    let between = prop_oneof![5 => Just(Vec::new()), 2 => vec(happening, 1..3)];
    // Mostly the changes end soon. Sometimes they last so long that no two passes are alike.
    let happenings = prop_oneof![7 => vec(between.clone(), 0..24), 1 => vec(between, 100..400)];
    (vec(seed, 0..8), happenings).prop_map(move |(seeds, happenings)| Case {
        seeds,
        happenings,
        range,
    })
}

#[derive(Clone, Debug)]
struct Process {
    parent: i32,
    started: u64,
    ended: bool,
    subreaper: bool,
    reaps: bool,
    mark: Mark,
    /// In the order in which they became its children.
    children: Vec<i32>,
}

/// A mistake of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It found a process that never was the job's.
    NotOfTheJob(ProcRef),
    /// It found none, although at each instant there was one.
    NoneFoundThoughSomeLived,
    /// It was not sure, although hardly anything happened.
    UnsureWithoutReason,
    /// It missed a process that lived from its beginning to its end.
    MissedSurvivor(ProcRef),
}

/// The processes, and which of them were the job's at each instant.
pub struct Model {
    now: RefCell<ProcessTable>,
}

struct ProcessTable {
    processes: BTreeMap<i32, Process>,
    happenings: VecDeque<Vec<Happening>>,
    range: Range,
    clock: u64,
    last_pid: i32,
    /// The job's processes at each instant since the beginning.
    history: Vec<HashSet<ProcRef>>,
}

impl Model {
    pub fn new(case: &Case) -> Model {
        let mut now = ProcessTable {
            processes: BTreeMap::new(),
            happenings: case.happenings.iter().cloned().collect(),
            range: case.range,
            clock: 0,
            last_pid: 0,
            history: Vec::new(),
        };
        now.begin(0, Mark::None, true, true);
        // A keeper reaps no child during a walk.
        now.begin(INIT, Mark::Ours, true, false);
        for seed in &case.seeds {
            let roots = match case.range {
                Range::Descendants => 1,
                Range::Anywhere => 0,
            };
            // Below the keeper. If processes may be anywhere, also below init.
            let pids: Vec<i32> = now.processes.keys().copied().skip(roots).collect();
            let parent = match seed.parent {
                usize::MAX => pids[pids.len() - 1],
                which => pids[which % pids.len()],
            };
            let inherited = now.processes[&parent].mark;
            let mark = match inherited {
                Mark::Foreign => Mark::Foreign,
                _ => seed.mark,
            };
            now.begin(parent, mark, seed.subreaper, seed.reaps);
        }
        now.remember();
        Model {
            now: RefCell::new(now),
        }
    }

    /// All mistakes in the result of a walk.
    pub fn judge(&self, found: &FoundProcesses, range: Range) -> Vec<Wrong> {
        let now = self.now.borrow();
        let ever: HashSet<ProcRef> = now.history.iter().flatten().copied().collect();
        let strangers = found.processes.difference(&ever);
        let mut wrong: Vec<Wrong> = strangers.copied().map(Wrong::NotOfTheJob).collect();
        if found.sure == Sure::No {
            // Each event spoils at most the pass during which it happens and the next one. Two good passes are always
            // needed.
            let passes = 2 + 2 * (now.history.len() - 1);
            wrong.extend((passes <= MAX_PASSES).then_some(Wrong::UnsureWithoutReason));
            return wrong;
        }
        let was_none = now.history.iter().any(HashSet::is_empty);
        // A search of all processes does not promise this.
        if found.processes.is_empty() && !was_none && range == Range::Descendants {
            wrong.push(Wrong::NoneFoundThoughSomeLived);
        }
        let mut throughout = now.history[0].clone();
        for instant in &now.history {
            throughout.retain(|process| instant.contains(process));
        }
        let missed = throughout.difference(&found.processes);
        wrong.extend(missed.copied().map(Wrong::MissedSurvivor));
        wrong
    }

    /// Lets happen what happens before the next read.
    fn pass_time(&self) {
        let mut now = self.now.borrow_mut();
        for happening in now.happenings.pop_front().unwrap_or_default() {
            now.happen(happening);
            now.remember();
        }
    }

    fn process(&self, pid: i32) -> Option<Process> {
        self.now.borrow().processes.get(&pid).cloned()
    }
}

impl ProcessTable {
    fn begin(&mut self, parent: i32, mark: Mark, subreaper: bool, reaps: bool) {
        let free = |pid: &i32| !self.processes.contains_key(pid);
        let after = self.last_pid + 1..=MAX_PROCESSES;
        let Some(pid) = after.chain(1..=self.last_pid).find(free) else {
            return;
        };
        self.last_pid = pid;
        self.clock += 1;
        let process = Process {
            parent,
            started: self.clock,
            ended: false,
            subreaper,
            reaps,
            mark,
            children: Vec::new(),
        };
        self.processes.insert(pid, process);
        if let Some(parent) = self.processes.get_mut(&parent) {
            parent.children.push(pid);
        }
    }

    fn happen(&mut self, happening: Happening) {
        let others = |now: &ProcessTable, wanted: &dyn Fn(&Process) -> bool| -> Vec<i32> {
            let processes = now.processes.iter().skip(2);
            processes
                .filter(|(_, process)| wanted(process))
                .map(|(pid, _)| *pid)
                .collect()
        };
        let pick = |of: Vec<i32>, which: usize| (!of.is_empty()).then(|| of[which % of.len()]);
        let living = others(self, &|process| !process.ended);
        match happening {
            Happening::Die(which) => {
                if let Some(pid) = pick(living, which) {
                    self.die(pid);
                }
            }
            Happening::Fork(which) => {
                if let Some(pid) = pick(living, which) {
                    let Process { mark, reaps, .. } = self.processes[&pid];
                    self.begin(pid, mark, false, reaps);
                }
            }
            Happening::Reap(which) => {
                let ended = others(self, &|process| process.ended && process.parent != KEEPER);
                if let Some(pid) = pick(ended, which) {
                    self.reap(pid);
                }
            }
            Happening::BecomeSubreaper(which) => {
                if let Some(process) =
                    pick(living, which).and_then(|pid| self.processes.get_mut(&pid))
                {
                    process.subreaper = true;
                }
            }
        }
    }

    fn die(&mut self, pid: i32) {
        let heir = self.heir(pid);
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        process.ended = true;
        let (parent, orphans) = (process.parent, std::mem::take(&mut process.children));
        for orphan in orphans {
            self.processes
                .entry(orphan)
                .and_modify(|process| process.parent = heir);
            self.processes
                .entry(heir)
                .and_modify(|process| process.children.push(orphan));
            let reaps = self.processes[&heir].reaps;
            if reaps && self.processes[&orphan].ended {
                self.reap(orphan);
            }
        }
        if self.processes[&parent].reaps {
            self.reap(pid);
        }
    }

    /// The process that gets the children of a process that dies.
    fn heir(&self, pid: i32) -> i32 {
        let mut above = self.processes[&pid].parent;
        while above != INIT && !self.processes[&above].subreaper {
            above = self.processes[&above].parent;
        }
        above
    }

    fn reap(&mut self, pid: i32) {
        if let Some(process) = self.processes.remove(&pid) {
            let of = self.processes.entry(process.parent);
            of.and_modify(|parent| parent.children.retain(|child| *child != pid));
        }
    }

    /// Records which processes are the job's at this instant.
    fn remember(&mut self) {
        let mut ours = HashSet::new();
        let mut parents = vec![KEEPER];
        if self.range == Range::Anywhere {
            for (pid, process) in self.processes.iter().skip(2) {
                if process.mark == Mark::Ours && !process.ended {
                    ours.insert(ProcRef {
                        pid: *pid,
                        started: process.started,
                    });
                    parents.push(*pid);
                }
            }
        }
        while let Some(parent) = parents.pop() {
            for child in &self.processes[&parent].children {
                let process = &self.processes[child];
                if process.mark != Mark::Foreign && !process.ended {
                    ours.insert(ProcRef {
                        pid: *child,
                        started: process.started,
                    });
                    parents.push(*child);
                }
            }
        }
        self.history.push(ours);
    }
}

impl Processes for Model {
    fn children(&self, parent: i32) -> io::Result<Vec<i32>> {
        let mut listed: Vec<i32> = Vec::new();
        loop {
            self.pass_time();
            let children = self.process(parent).map(|process| process.children);
            let children = children.unwrap_or_default();
            let last = listed.last();
            let place = last.and_then(|last| children.iter().position(|child| child == last));
            let next = match place {
                Some(place) => children.get(place + 1),
                None => children.get(listed.len()),
            };
            match next {
                Some(child) => listed.push(*child),
                None => return Ok(listed),
            }
        }
    }

    fn all(&self) -> io::Result<Vec<i32>> {
        let mut listed = Vec::new();
        for pid in 1..=MAX_PROCESSES {
            self.pass_time();
            listed.extend(self.process(pid).map(|_| pid));
        }
        Ok(listed)
    }

    fn look(&self, pid: i32) -> io::Result<Option<Look>> {
        self.pass_time();
        Ok(self.process(pid).map(|process| Look {
            parent: process.parent,
            started: process.started,
            ended: process.ended,
        }))
    }

    fn is_foreign(&self, pid: i32) -> io::Result<bool> {
        self.pass_time();
        let foreign = |process: Process| process.mark == Mark::Foreign && !process.ended;
        Ok(self.process(pid).is_some_and(foreign))
    }

    fn is_ours(&self, pid: i32) -> io::Result<bool> {
        self.pass_time();
        let ours = |process: Process| process.mark == Mark::Ours && !process.ended;
        Ok(pid != KEEPER && self.process(pid).is_some_and(ours))
    }
}

/// The same model without marks.
pub struct Unmarked<'a>(pub &'a Model);

impl Processes for Unmarked<'_> {
    fn children(&self, parent: i32) -> io::Result<Vec<i32>> {
        self.0.children(parent)
    }

    fn all(&self) -> io::Result<Vec<i32>> {
        self.0.all()
    }

    fn look(&self, pid: i32) -> io::Result<Option<Look>> {
        self.0.look(pid)
    }

    fn is_foreign(&self, _: i32) -> io::Result<bool> {
        Ok(false)
    }

    fn is_ours(&self, pid: i32) -> io::Result<bool> {
        self.0.is_ours(pid)
    }
}
