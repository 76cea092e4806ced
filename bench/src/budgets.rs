//! Budgets: counts and sizes of the release programs that may not grow unnoticed, on any machine.
//!
//! The numbers are in `bench/budgets.toml`. `cargo xtask budgets` builds the programs, passes their
//! directory in `OUTLIVE_PROGRAMS` and runs these tests. So does `cargo xtask test`.

use crate::contender::{Contender, Outlive};
use crate::processes::{activity, become_reaper, jobs_and_supervisors, memory, sweep, until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const BUDGETS: &str = include_str!("../budgets.toml");
const IDLE_JOBS: usize = 500;

/// How many launches are counted. The one with the fewest system calls is compared with the budget.
///
/// The scheduler only ever adds calls to those that a launch needs. If the job is still running a moment
/// after its start, the standby syncs the job's names itself: 13 calls more. A process that is woken before
/// the event it waits for polls again: up to 5 calls more.
const LAUNCHES: usize = 7;

/// A test finds its processes as its descendants, so only one test may start processes at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A home of its own, with the release programs.
pub struct World {
    pub outlive: Outlive,
    directory: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    pub fn new() -> World {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        become_reaper().unwrap();
        let directory = tempfile::Builder::new()
            .prefix("outlive-budget-")
            .tempdir()
            .unwrap();
        let home = directory.path().join("home");
        World {
            outlive: Outlive::new("outlive", &program("outlive"), home, &[]),
            directory,
            _turn: turn,
        }
    }

    /// A world whose first job, which creates the home, is over.
    fn lived_in() -> World {
        let world = World::new();
        world.outlive.ok(&["run", "--wait", "--", "true"]).unwrap();
        world
    }
}

impl Drop for World {
    fn drop(&mut self) {
        sweep();
    }
}

fn program(name: &str) -> PathBuf {
    let directory = std::env::var_os("OUTLIVE_PROGRAMS")
        .expect("`cargo xtask budgets` builds the programs and says where they are");
    Path::new(&directory).join(name)
}

fn budget(name: &str) -> i64 {
    let budgets: toml_edit::DocumentMut = BUDGETS.parse().unwrap();
    budgets[name].as_integer().unwrap()
}

#[track_caller]
fn assert_within(name: &str, count: u64) {
    let budget = budget(name);
    assert!(
        count as i64 <= budget,
        "{name} is {count}, more than the {budget} of bench/budgets.toml"
    );
    println!("{name}: {count} of {budget}");
}

#[test]
#[ignore = "needs the programs as they ship: cargo xtask budgets"]
fn a_launch_takes_no_more_system_calls_than_it_did() {
    let world = World::lived_in();
    let trace = world.directory.path().join("trace");
    let launches: Vec<(u64, u64)> = (0..LAUNCHES).map(|_| launch(&world, &trace)).collect();
    let fewest = |of: fn(&(u64, u64)) -> u64| launches.iter().map(of).min().unwrap();
    assert_within("run_system_calls", fewest(|(run, _)| *run));
    assert_within("pair_system_calls", fewest(|(_, pair)| *pair));
}

/// The system calls of the launcher, and of the two keepers.
fn launch(world: &World, trace: &Path) -> (u64, u64) {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-q", "-o"]).arg(trace);
    run_under(&mut strace, &world.outlive.command(&["run", "--", "true"]));
    // It ends when everything that it follows has ended.
    crate::contender::output_of(&mut strace).unwrap();
    count(&fs::read_to_string(trace).unwrap())
}

/// Runs this command, with its arguments and environment, under a tracer.
fn run_under(tracer: &mut Command, command: &Command) {
    tracer.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => tracer.env(name, value),
            None => tracer.env_remove(name),
        };
    }
}

/// Counts the calls in a trace, without those of the job's own program.
fn count(trace: &str) -> (u64, u64) {
    let (mut launcher, mut becoming, mut job) = (None, None, None);
    let (mut run, mut pair) = (0, 0);
    for line in trace.lines() {
        let (pid, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        let begins = !call.starts_with(['+', '-', '<']);
        if begins && job != Some(pid) {
            match *launcher.get_or_insert(pid) == pid {
                true => run += 1,
                false => pair += 1,
            }
        }
        // The program is searched along the PATH, and calls of other processes may come in between.
        if call.starts_with("execve(") && call.contains("/true\"") {
            becoming = Some(pid);
        }
        if becoming == Some(pid) && call.contains("execve") && call.ends_with(" = 0") {
            job = Some(pid);
        }
    }
    assert!(job.is_some(), "the job's program is not in the trace");
    (run, pair)
}

#[test]
#[ignore = "needs the programs as they ship: cargo xtask budgets"]
fn a_running_job_takes_no_more_system_calls_of_a_list_than_it_did() {
    const MORE: usize = 40;
    let mut world = World::lived_in();
    let few = calls_of_a_list(&world);
    let job = ["sleep", "1000000"];
    world.outlive.start_many(&job, MORE).unwrap();
    let many = calls_of_a_list(&world);
    assert_within("list_system_calls_per_job", (many - few) / MORE as u64);
}

fn calls_of_a_list(world: &World) -> u64 {
    let trace = world.directory.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-q", "-o"]).arg(&trace);
    let list = world.outlive.command(&["list", "--state", "running"]);
    run_under(&mut strace, &list);
    crate::contender::output_of(&mut strace).unwrap();
    let trace = fs::read_to_string(&trace).unwrap();
    trace.lines().filter(|line| line.contains(" = ")).count() as u64
}

#[test]
#[ignore = "needs the programs as they ship: cargo xtask budgets"]
fn idle_pairs_take_no_more_memory_than_they_did_and_never_wake() {
    let mut world = World::new();
    world
        .outlive
        .start_many(&["sleep", "1000000"], IDLE_JOBS)
        .unwrap();
    until("every pair sleeps", || {
        let (jobs, keepers) = jobs_and_supervisors(&["sleep"]);
        jobs.len() == IDLE_JOBS && keepers.len() == 2 * IDLE_JOBS
    })
    .unwrap();
    let (_, keepers) = jobs_and_supervisors(&["sleep"]);
    // Wait until the last of them has noticed that its launcher is gone.
    let mut before = activity(&keepers);
    until("nothing happens any more", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = activity(&keepers);
        let quiet = now.since(before).runs == 0;
        before = now;
        quiet
    })
    .unwrap();
    let taken = memory(&keepers);
    assert_within("pair_pss_kb", taken.pss / IDLE_JOBS as u64);
    assert_within("pair_private_kb", taken.private_dirty / IDLE_JOBS as u64);
    let before = activity(&keepers);
    // This is not a wait for an event: nothing may happen in this time.
    std::thread::sleep(Duration::from_secs(3));
    let did = activity(&keepers).since(before);
    assert!(before.runs > 0, "the kernel tells nothing of its scheduler");
    assert_within("idle_runs", did.runs);
}

#[test]
#[ignore = "needs the programs as they ship: cargo xtask budgets"]
fn the_programs_are_no_larger_than_they_were() {
    for (name, key) in [
        ("outlive", "outlive_bytes"),
        ("outlive-keeper", "keeper_bytes"),
        ("outlive-far", "far_bytes"),
    ] {
        assert_within(key, fs::metadata(program(name)).unwrap().len());
    }
}
