//! What a running job uses now.
//!
//! A job with control groups is counted by the kernel. What they do not count is added up from its processes: the
//! descendants of its keeper, without other jobs that it has started. That is a glance: a process that moves meanwhile
//! may be missed. Nothing depends on it but the answer.

use crate::environment;
use crate::jobs::whereabouts;
use outlive_core::{JobDir, Phase, ProcRef, State, Usage};
use outlive_sys::process::{self, Consumed};
use outlive_sys::tree;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;

/// What the job uses now. `None` if it does not run on this host.
pub(crate) fn now(job: &JobDir, state: &State) -> Option<Usage> {
    let leader = match &state.phase {
        Phase::Running(leader) | Phase::Stopping(leader, _) => leader.process,
        _ => return None,
    };
    let is_here = whereabouts::here().is_ok_and(|here| here.has_processes_of(state));
    is_here.then(|| counted(state, sum(&processes(job, state, leader))))
}

/// Replaces the sums by what the control groups count.
fn counted(state: &State, sum: Usage) -> Usage {
    let Some(confined) = &state.confined else {
        return sum;
    };
    let (user_ms, system_ms) = confined.cpu_ms().unwrap_or((sum.user_ms, sum.system_ms));
    let io = confined.io_bytes();
    Usage {
        user_ms,
        system_ms,
        memory_bytes: confined.memory_now().or(sum.memory_bytes),
        peak_memory_bytes: confined.peak_memory(),
        read_bytes: io.map(|(read, _)| read).or(sum.read_bytes),
        written_bytes: io.map(|(_, written)| written).or(sum.written_bytes),
        ..sum
    }
}

fn sum(processes: &HashSet<i32>) -> Usage {
    let mut sum = Usage::default();
    let (mut memory, mut count, mut io) = (0, 0, None);
    for used in processes.iter().filter_map(|pid| process::consumed(*pid)) {
        let Consumed {
            user_ms,
            system_ms,
            rss_bytes,
            peak_rss_bytes,
            ..
        } = used;
        sum.user_ms += user_ms;
        sum.system_ms += system_ms;
        sum.max_rss_bytes = sum.max_rss_bytes.max(peak_rss_bytes);
        memory += rss_bytes;
        count += 1;
        if let Some((read, written)) = used.io {
            let before = io.unwrap_or((0, 0));
            io = Some((before.0 + read, before.1 + written));
        }
    }
    Usage {
        memory_bytes: Some(memory),
        processes: Some(count),
        read_bytes: io.map(|(read, _)| read),
        written_bytes: io.map(|(_, written)| written),
        ..sum
    }
}

/// The processes of the job.
fn processes(job: &JobDir, state: &State, leader: ProcRef) -> HashSet<i32> {
    let kept = state.kept.iter();
    let keepers: Vec<i32> = kept
        .flat_map(|kept| [Some(kept.keeper), kept.standby])
        .flatten()
        .filter(|keeper| is_it(*keeper))
        .map(|keeper| keeper.pid)
        .collect();
    let mark = job.path().as_os_str().as_bytes();
    let is_adopted = state.kept.as_ref().is_some_and(|kept| kept.adopted);
    let mut found = HashSet::new();
    let mut parents = keepers.clone();
    if is_it(leader) {
        found.insert(leader.pid);
        parents.push(leader.pid);
    }
    if is_adopted {
        // Orphans of the dead pair descend from none of these.
        let all = tree::all().unwrap_or_default();
        let marked = all.into_iter().filter(|pid| {
            !keepers.contains(pid) && marked(*pid).as_deref() == Some(mark) && found.insert(*pid)
        });
        let marked: Vec<i32> = marked.collect();
        parents.extend(marked);
    }
    while let Some(parent) = parents.pop() {
        for child in tree::children(parent).unwrap_or_default() {
            let is_other = marked(child).is_some_and(|other| other != mark);
            if !keepers.contains(&child) && !is_other && found.insert(child) {
                parents.push(child);
            }
        }
    }
    let runs = |pid: &i32| process::stat(*pid).is_some_and(|stat| !stat.is_zombie());
    found.retain(runs);
    found
}

/// The job that a process says it belongs to.
fn marked(pid: i32) -> Option<Vec<u8>> {
    process::started_with(pid, environment::JOB_DIR)
        .ok()
        .flatten()
}

fn is_it(process: ProcRef) -> bool {
    process::stat(process.pid).is_some_and(|stat| stat.started == process.started)
}
