//! Putting a job under its limits.
//!
//! ```text
//! decide where ─► journal that ─► make the groups ─► fork … journal the leader ─► put it there ─► open the gate
//! ```
//! So the job runs no instruction without its limits, and a group that exists is in the journal. Each step can be
//! repeated: a successor does the same with what the journal says.
//!
//! A limit that cannot be enforced prevents the start, with one exception: without a control group, the limit of memory
//! becomes one of the address space of each process, and the launcher says so.

use crate::hooks::Hook;
use crate::supervise::kept_job::KeptJob;
use crate::supervise::memory;
use outlive_core::confined::{Confined, Controls, EnforcedBy, Group, PREFIX};
use outlive_core::event::Event;
use outlive_core::signal::Signal;
use outlive_core::spec::Limits;
use outlive_core::{JobDir, Phase, ProcRef, Spec, State};
use outlive_sys::cgroup::{self, Membership};
use outlive_sys::process::{self, Limits as ProcessLimits, PidFd};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The period over which processor time is limited, in microseconds. It is the kernel's default.
const PERIOD_US: u64 = 100_000;

/// What a limit is called in each version.
struct Control {
    controller: &'static str,
    controls: Controls,
    word: &'static str,
}

const MEMORY: Control = Control {
    controller: "memory",
    controls: Controls::Memory,
    word: "memory",
};
const CPU: Control = Control {
    controller: "cpu",
    controls: Controls::Cpu,
    word: "processor time",
};
const PIDS: Control = Control {
    controller: "pids",
    controls: Controls::Pids,
    word: "number of processes",
};

/// Puts this process, before it forks the pair, where it does not keep the job from getting a group. A pair that adopts a
/// job goes to where the dead pair was: systemd removes a scope that is empty, with the counters of its groups.
pub fn settle(job: &JobDir) -> io::Result<()> {
    let journal = job.read_journal().map_err(io::Error::other)?;
    let confined = journal.state.confined.as_ref();
    let groups = confined.iter().flat_map(|confined| &confined.groups);
    let group = groups
        .into_iter()
        .find(|group| group.controls == Controls::All);
    let scope = group.and_then(|group| group.directory.parent());
    match scope.map(cgroup::enter_keepers) {
        Some(Ok(())) => Ok(()),
        _ => cgroup::settle_in_scope(),
    }
}

/// Decides how the limits are enforced, journals that and sets everything up, before the leader is forked. Does
/// nothing for a job without limits.
#[inline(never)]
pub fn prepare(job: &mut KeptJob) -> io::Result<()> {
    let limits = job.spec().limits;
    if limits.is_none() {
        return Ok(());
    }
    if job.state().confined.is_none() {
        let confined = decide(job.spec(), &limits)?;
        job.ledger.write(&[Event::Confined(confined)])?;
        job.reach(Hook::Confined);
    }
    if let Phase::Backoff { .. } = job.state().phase {
        return begin_anew(job);
    }
    let Some(confined) = &job.state().confined else {
        return Ok(());
    };
    for group in &confined.groups {
        set_up(group, &limits)
            .map_err(|error| cannot(&format!("set up {}", group.directory.display()), &error))?;
    }
    memory::listen(job);
    job.reach(Hook::GroupsMade);
    Ok(())
}

/// Prepares the groups for another attempt. They stay: removing them would ring the bell, at any later time.
fn begin_anew(job: &mut KeptJob) -> io::Result<()> {
    let Some(mut confined) = job.state().confined.clone() else {
        return Ok(());
    };
    confined.forget_peak();
    let kills = confined.kills_in_all().unwrap_or_default();
    if kills != confined.kills_before {
        confined.kills_before = kills;
        job.ledger.write(&[Event::Confined(confined)])?;
    }
    if let Some(bell) = &job.shared.oom_bell {
        bell.silence();
    }
    job.reach(Hook::GroupsMade);
    Ok(())
}

/// Puts the leader, which waits at its gate, under the limits. If that fails, the leader is killed.
#[inline(never)]
pub fn put_under(spec: &Spec, state: &State, leader: ProcRef) -> io::Result<()> {
    let Err(error) = try_to_put(spec, state, leader.pid) else {
        return Ok(());
    };
    let stat = process::stat(leader.pid).filter(|stat| stat.started == leader.started);
    // Otherwise the gate was opened before, by a keeper that had put the leader there.
    if stat.is_some_and(|stat| stat.never_executed()) {
        if let Ok(Some(pidfd)) = PidFd::open_started(leader.pid, leader.started) {
            let _ = pidfd.signal(Signal::KILL.linux_number());
        }
        return Err(error);
    }
    Ok(())
}

fn try_to_put(spec: &Spec, state: &State, leader: i32) -> io::Result<()> {
    for group in state.confined.iter().flat_map(|confined| &confined.groups) {
        let directory = &group.directory;
        cgroup::enter(directory, leader)
            .map_err(|error| cannot(&format!("enter {}", directory.display()), &error))?;
    }
    match spec.limits.nice {
        Some(nice) => process::set_nice(leader, nice)
            .map_err(|error| cannot(&format!("set the nice value {nice}"), &error)),
        None => Ok(()),
    }
}

/// The limits that each process of the job has for itself. Without a control group, one of them stands in for the
/// limit of memory.
pub fn of_each_process(job: &KeptJob) -> io::Result<Option<ProcessLimits>> {
    let limits = job.shared.limits;
    let confined = job.state().confined.as_ref();
    let has_group = confined.is_none_or(|confined| confined.memory().is_some());
    let Some(bytes) = job.spec().limits.memory_bytes.filter(|_| !has_group) else {
        return Ok(limits);
    };
    match limits {
        Some(limits) => Ok(Some(limits.with_address_space(bytes))),
        None => Err(io::Error::other("its memory cannot be limited here")),
    }
}

fn cannot(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what}: {error}"))
}

fn wanted(limits: &Limits) -> Vec<Control> {
    let all = [
        limits.memory_bytes.map(|_| MEMORY),
        limits.cpus.map(|_| CPU),
        limits.pids.map(|_| PIDS),
    ];
    all.into_iter().flatten().collect()
}

fn decide(spec: &Spec, limits: &Limits) -> io::Result<Confined> {
    let wanted = wanted(limits);
    let none = Confined {
        by: EnforcedBy::Process,
        groups: Vec::new(),
        kills_before: 0,
    };
    if wanted.is_empty() {
        return Ok(none);
    }
    let here = Membership::own().unwrap_or_default();
    let name = name(spec);
    if let Some(confined) = version_2(&here, &wanted, &name) {
        return Ok(confined);
    }
    let mut groups = Vec::new();
    for control in &wanted {
        match here
            .separate(control.controller)
            .filter(|group| cgroup::is_writable(group))
        {
            Some(group) => groups.push(Group {
                directory: group.join(&name),
                controls: control.controls,
            }),
            None if control.controls == Controls::Memory => {}
            None => {
                return Err(io::Error::other(format!(
                    "its {} cannot be limited here, because no control group can be made; start it without \
                     that limit (`outlive doctor` says what is possible)",
                    control.word
                )));
            }
        }
    }
    Ok(match groups.is_empty() {
        true => none,
        false => Confined {
            by: EnforcedBy::CgroupV1,
            groups,
            kills_before: 0,
        },
    })
}

fn version_2(here: &Membership, wanted: &[Control], name: &str) -> Option<Confined> {
    let place = here.unified.as_ref()?;
    let controllers: Vec<&str> = wanted.iter().map(|control| control.controller).collect();
    let parent = place.parent_for(&controllers)?;
    Some(Confined {
        by: EnforcedBy::CgroupV2,
        groups: vec![Group {
            directory: parent.join(name),
            controls: Controls::All,
        }],
        kills_before: 0,
    })
}

/// The name of the groups: no other job has it, nor an earlier one with the same id.
fn name(spec: &Spec) -> String {
    match &spec.incarnation {
        Some(incarnation) => format!("{PREFIX}{}-{incarnation}", spec.id),
        None => format!("{PREFIX}{}", spec.id),
    }
}

fn set_up(group: &Group, limits: &Limits) -> io::Result<()> {
    cgroup::make(&group.directory)?;
    let to = Writer(&group.directory);
    match group.controls {
        Controls::All => {
            if let Some(bytes) = limits.memory_bytes {
                to.write("memory.max", bytes)?;
                to.write_if_there("memory.swap.max", 0)?;
                // The kernel then kills the whole job, and not one process of it.
                to.write("memory.oom.group", 1)?;
            }
            if let Some(cpus) = limits.cpus {
                let quota = cpus.of_period(PERIOD_US);
                to.write("cpu.max", format!("{quota} {PERIOD_US}"))?;
            }
            limits
                .pids
                .map_or(Ok(()), |pids| to.write("pids.max", pids))
        }
        Controls::Memory => limits.memory_bytes.map_or(Ok(()), |bytes| {
            to.write("memory.limit_in_bytes", bytes)?;
            // Memory and swap together.
            to.write_if_there("memory.memsw.limit_in_bytes", bytes)
        }),
        Controls::Cpu => limits.cpus.map_or(Ok(()), |cpus| {
            to.write("cpu.cfs_period_us", PERIOD_US)?;
            to.write("cpu.cfs_quota_us", cpus.of_period(PERIOD_US))
        }),
        Controls::Pids => limits
            .pids
            .map_or(Ok(()), |pids| to.write("pids.max", pids)),
    }
}

/// Writes the files of a group.
struct Writer<'a>(&'a Path);

impl Writer<'_> {
    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    fn write(&self, file: &str, value: impl ToString) -> io::Result<()> {
        fs::write(self.path(file), value.to_string())
    }

    /// A kernel that does not count swap has no such file.
    fn write_if_there(&self, file: &str, value: impl ToString) -> io::Result<()> {
        match self.path(file).exists() {
            true => self.write(file, value),
            false => Ok(()),
        }
    }
}
