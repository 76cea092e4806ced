//! Thousands of running jobs: what listing them takes, and where the kernel's memory for them goes.

use crate::BenchError;
use crate::clock::timed;
use crate::contender::{Contender, Outlive};
use crate::processes::{KernelMemory, jobs_and_supervisors, until};
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, median};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const STEPS: [usize; 3] = [10, 500, 3_000];
const JOB: [&str; 2] = ["sleep", "1000000"];
/// The most that a list of 3,000 running jobs may take.
const TARGET_MS: f64 = 50.0;

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let mut measured = Measured::default();
    let mut table = Table::new(
        "median ms to list this many running jobs; the floor reads the journal of each in one process",
        &["running", "list ms", "µs a job", "floor ms", "x floor"],
    );
    let mut outlive = Outlive::new("outlive", &bench.outlive, bench.directory()?, &[]);
    let mut started = 0;
    let mut last = f64::NAN;
    for jobs in STEPS {
        start(&mut outlive, jobs - started)?;
        started = jobs;
        let (list, floor) = listing(bench, &outlive)?;
        last = list;
        table.row([
            Cell::Number(jobs as f64, 0),
            Cell::Number(list, 2),
            Cell::Number(list * 1000.0 / jobs as f64, 1),
            Cell::Number(floor, 2),
            Cell::Number(list / floor, 2),
        ]);
    }
    measured.verdict(
        "`list` with 3,000 running jobs",
        "≤ 50 ms",
        format!("{last:.1} ms"),
        last <= TARGET_MS,
    );
    measured.tables.push(table);
    bench.clear();
    measured.tables.push(kernel(bench)?);
    measured.notes.push(
        "The kernel's memory is the growth of the whole machine's counters, for each of 500 jobs. The job itself is one \
         process of them: the row of `setsid -f` is that process alone."
            .into(),
    );
    Ok(measured)
}

fn start(outlive: &mut Outlive, jobs: usize) -> Result<(), BenchError> {
    outlive.start_many(&JOB, jobs)?;
    // The launchers are gone, and what they left is settled.
    thread::sleep(Duration::from_millis(300));
    Ok(())
}

/// The median time of a list, and of reading the journals alone.
fn listing(bench: &Bench, outlive: &Outlive) -> Result<(f64, f64), BenchError> {
    let (mut lists, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..bench.pick(20, 7) {
        let (ms, listed) = timed(|| outlive.ok(&["list", "--state", "running"]));
        listed?;
        lists.push(ms);
        let (ms, read) = timed(|| read_journals(&outlive.home.join("jobs")));
        read.map_err(|error| error.to_string())?;
        floors.push(ms);
    }
    Ok((median(&lists), median(&floors)))
}

fn read_journals(jobs: &Path) -> std::io::Result<usize> {
    let mut bytes = 0;
    for entry in fs::read_dir(jobs)? {
        bytes += fs::read(entry?.path().join("journal"))?.len();
    }
    Ok(bytes)
}

/// Where the kernel's memory of idle jobs goes.
fn kernel(bench: &Bench) -> Result<Table, BenchError> {
    const JOBS: usize = 500;
    let mut table = Table::new(
        "kilobytes of the kernel's for each of 500 idle jobs",
        &["", "slabs", "stacks", "page tables", "per processor", "sum"],
    );
    let mut outlive = Outlive::new("outlive", &bench.outlive, bench.directory()?, &[]);
    let ours = grown(JOBS, || outlive.start_many(&JOB, JOBS))?;
    bench.clear();
    let alone = grown(JOBS, || {
        (0..JOBS).try_for_each(|_| {
            let mut setsid = Command::new("setsid");
            let setsid = setsid.arg("-f").args(JOB).stdin(Stdio::null());
            let done = setsid.stdout(Stdio::null()).status();
            done.map(drop).map_err(|error| error.to_string())
        })
    })?;
    bench.clear();
    table.row(row("outlive", ours, JOBS));
    table.row(row("setsid -f", alone, JOBS));
    table.row(row("the pair", ours.since(alone), JOBS));
    Ok(table)
}

fn grown(
    jobs: usize,
    start: impl FnOnce() -> Result<(), BenchError>,
) -> Result<KernelMemory, BenchError> {
    let before = KernelMemory::now();
    start()?;
    until("every job runs", || {
        jobs_and_supervisors(&["sleep"]).0.len() == jobs
    })?;
    thread::sleep(Duration::from_secs(1));
    Ok(KernelMemory::now().since(before))
}

fn row(name: &str, memory: KernelMemory, jobs: usize) -> Vec<Cell> {
    let each = |kilobytes: u64| Cell::Number(kilobytes as f64 / jobs as f64, 1);
    vec![
        Cell::text(name),
        each(memory.slabs),
        each(memory.stacks),
        each(memory.page_tables),
        each(memory.per_processor),
        each(memory.sum()),
    ]
}
