//! The processes below the harness, and what the kernel reports about them.
//!
//! The harness is a subreaper, so whatever a peer starts in the background stays its descendant. This
//! finds all supervisors in the same way, and nothing is left behind.

use crate::BenchError;
use outlive_sys::process::own;
use outlive_sys::tree;
use outlive_testkit::processes::{KILL, is_alive, kill};
use outlive_testkit::waiting::try_until_within;
use rustix::process::{WaitOptions, wait};
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// A peer should do everything within this time; otherwise it never will.
const PATIENCE: Duration = Duration::from_secs(60);

/// From now on, orphans below this process stay its descendants.
pub fn become_reaper() -> Result<(), BenchError> {
    tree::become_subreaper().map_err(|error| error.to_string())
}

/// Every process below this one that has not ended.
pub fn descendants() -> Vec<i32> {
    let mut found = Vec::new();
    let mut above = vec![own::pid()];
    while let Some(pid) = above.pop() {
        let children = tree::children(pid).unwrap_or_default();
        above.extend(&children);
        found.extend(children);
    }
    found.retain(|pid| is_alive(*pid));
    found
}

/// The descendants that run one of these programs, which are the jobs, and the others, which keep them.
pub fn jobs_and_supervisors(programs: &[&str]) -> (Vec<i32>, Vec<i32>) {
    descendants().into_iter().partition(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        programs.contains(&name.trim_end())
    })
}

/// Reaps children that have ended.
pub fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// Kills everything below this process, repeatedly, because a standby may take over in between.
pub fn sweep() {
    while kill_descendants() > 0 {
        reap();
        thread::sleep(Duration::from_millis(5));
    }
    reap();
}

/// Kills the current descendants. Returns how many there were.
fn kill_descendants() -> usize {
    let left = descendants();
    left.iter().for_each(|pid| kill(*pid, KILL));
    left.len()
}

/// Kills everything after this time, unless it is dropped first. So a peer that hangs becomes a row
/// that says so, and does not stop the run.
#[derive(Debug)]
pub struct Watchdog {
    _leash: Sender<()>,
}

impl Watchdog {
    pub fn after(limit: Duration) -> Watchdog {
        let (leash, end) = mpsc::channel();
        thread::spawn(move || {
            if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                kill_descendants();
            }
        });
        Watchdog { _leash: leash }
    }
}

/// Waits until this is true.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), BenchError> {
    try_until_within(PATIENCE, what, || {
        reap();
        is_so()
    })
}

/// The memory of processes in kilobytes, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Shared pages count in proportion (PSS).
    pub pss: u64,
    pub private_dirty: u64,
}

pub fn memory(pids: &[i32]) -> Memory {
    let mut all = Memory::default();
    for pid in pids {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        all.pss += field(&text, "Pss:");
        all.private_dirty += field(&text, "Private_Dirty:");
    }
    all
}

/// Kilobytes that the kernel uses on the whole machine: slabs, stacks and page tables.
pub fn kernel_memory() -> u64 {
    KernelMemory {
        per_processor: 0,
        ..KernelMemory::now()
    }
    .sum()
}

/// What the kernel uses on the whole machine, in kilobytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelMemory {
    pub slabs: u64,
    pub stacks: u64,
    pub page_tables: u64,
    pub per_processor: u64,
}

impl KernelMemory {
    pub fn now() -> KernelMemory {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        KernelMemory {
            slabs: field(&text, "Slab:"),
            stacks: field(&text, "KernelStack:"),
            page_tables: field(&text, "PageTables:"),
            per_processor: field(&text, "Percpu:"),
        }
    }

    /// The growth since then. Others may have freed memory meanwhile.
    pub fn since(self, then: KernelMemory) -> KernelMemory {
        KernelMemory {
            slabs: self.slabs.saturating_sub(then.slabs),
            stacks: self.stacks.saturating_sub(then.stacks),
            page_tables: self.page_tables.saturating_sub(then.page_tables),
            per_processor: self.per_processor.saturating_sub(then.per_processor),
        }
    }

    pub fn sum(self) -> u64 {
        self.slabs + self.stacks + self.page_tables + self.per_processor
    }
}

/// The number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// What processes did since they started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    pub processor_ns: u64,
    /// How often they were scheduled.
    pub runs: u64,
    /// How often they gave up the processor.
    pub switches: u64,
}

impl Activity {
    pub fn since(self, before: Activity) -> Activity {
        Activity {
            processor_ns: self.processor_ns.saturating_sub(before.processor_ns),
            runs: self.runs.saturating_sub(before.runs),
            switches: self.switches.saturating_sub(before.switches),
        }
    }
}

pub fn activity(pids: &[i32]) -> Activity {
    let mut all = Activity::default();
    for thread in pids.iter().flat_map(|pid| threads(*pid)) {
        let schedstat = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
        let numbers: Vec<u64> = schedstat
            .split_ascii_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        all.processor_ns += numbers.first().copied().unwrap_or(0);
        all.runs += numbers.get(2).copied().unwrap_or(0);
        let status = fs::read_to_string(thread.join("status")).unwrap_or_default();
        all.switches += field(&status, "voluntary_ctxt_switches:");
        all.switches += field(&status, "nonvoluntary_ctxt_switches:");
    }
    all
}

fn threads(pid: i32) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}
