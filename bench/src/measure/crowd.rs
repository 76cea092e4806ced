//! How cost grows with the number of jobs: memory, launching, listing, and the activity of idle jobs.

use super::launch::SETTLING;
use crate::BenchError;
use crate::clock::timed;
use crate::contender::{self, Contender, Entry};
use crate::processes::{activity, jobs_and_supervisors, kernel_memory, memory, reap, until};
use crate::report::{Cell, Growth, Measured, Table};
use crate::run::{Bench, median};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const STEPS: [usize; 4] = [1, 10, 100, 500];
const JOB: [&str; 2] = ["sleep", "1000000"];

/// The costs of one contender with this many jobs.
struct Step {
    jobs: usize,
    /// Kilobytes per job, of all its supervisors.
    pss: f64,
    private_dirty: f64,
    processes: f64,
    /// Kilobytes per job that the kernel uses, including for the job itself.
    kernel: f64,
    launch_ms: Option<f64>,
    list_ms: Option<f64>,
}

/// The activity of all supervisors while nothing happened.
struct Idle {
    seconds: f64,
    runs: u64,
    switches: u64,
    processor_ms: f64,
    /// The system calls that returned, if they were traced.
    calls: Option<usize>,
}

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let mut measured = Measured::default();
    let mut costs = Table::new(
        "with 500 idle jobs, for each job",
        &[
            "",
            "supervisors' PSS kB",
            "private dirty kB",
            "processes",
            "kernel kB",
            "launch ms",
            "list ms",
        ],
    );
    let mut idling = Table::new(
        "what the supervisors of 500 idle jobs do in a minute",
        &[
            "",
            "wake-ups",
            "context switches",
            "processor ms",
            "system calls",
            "looked at for",
        ],
    );
    for entry in contender::all() {
        eprintln!("  {}", entry.name);
        match one(bench, entry) {
            Err(why) => {
                costs.missing(entry.name, &why);
                idling.missing(entry.name, &why);
            }
            Ok((steps, idle)) => {
                if let Some(last) = steps.last() {
                    costs.row(last.row(entry.name));
                }
                idling.row(idle.row(entry.name));
                measured.growth.extend(growth(entry.name, &steps));
                if entry.name == "outlive" {
                    judge(&mut measured, &steps, &idle);
                }
            }
        }
        bench.clear();
    }
    measured.tables.extend([costs, idling]);
    measured.notes.push(
        "Kernel memory is the growth of slabs, kernel stacks and page tables of the whole machine. It \
         includes the sleeping jobs themselves; the row of `setsid -f` is the jobs alone. A process that was \
         never scheduled made no system calls."
            .into(),
    );
    Ok(measured)
}

fn judge(measured: &mut Measured, steps: &[Step], idle: &Idle) {
    let Some(last) = steps.last() else { return };
    measured.verdict(
        "memory",
        "≤ 80 kB PSS for the pair at 500 jobs",
        format!(
            "{:.1} kB, and {:.0} kB of the kernel's",
            last.pss, last.kernel
        ),
        last.pss <= 80.0,
    );
    measured.verdict(
        "idle cost",
        "0 wake-ups, 0 system calls",
        format!(
            "{} and {} in {:.0} s",
            idle.runs,
            idle.calls.unwrap_or(0),
            idle.seconds
        ),
        idle.runs == 0 && idle.calls == Some(0),
    );
}

fn one(bench: &Bench, entry: &Entry) -> Result<(Vec<Step>, Idle), BenchError> {
    let mut it = bench.enter(entry)?;
    thread::sleep(Duration::from_millis(300));
    let kernel = kernel_memory();
    let mut steps = Vec::new();
    let mut started = 0;
    for jobs in STEPS {
        it.start_many(&JOB, jobs - started)?;
        started = jobs;
        steps.push(step(bench, &mut *it, jobs, kernel)?);
    }
    let (_, supervisors) = jobs_and_supervisors(&["sleep"]);
    Ok((steps, idle(bench, entry.name, &supervisors)?))
}

fn step(
    bench: &Bench,
    it: &mut dyn Contender,
    jobs: usize,
    kernel: u64,
) -> Result<Step, BenchError> {
    until("every job runs", || {
        jobs_and_supervisors(&["sleep"]).0.len() == jobs
    })?;
    thread::sleep(Duration::from_millis(300));
    let (_, supervisors) = jobs_and_supervisors(&["sleep"]);
    let each = |sum: u64| sum as f64 / jobs as f64;
    let taken = memory(&supervisors);
    let kernel = kernel_memory().saturating_sub(kernel);
    let samples = bench.pick(30, 6);
    let mut launches = Vec::new();
    let mut lists = Vec::new();
    for _ in 0..samples {
        if it.no_launch().is_none() {
            let (ms, started) = timed(|| it.start(&["true"]));
            started?;
            launches.push(ms);
            thread::sleep(SETTLING);
            reap();
        }
        let (ms, listed) = timed(|| it.list());
        if listed.is_ok() {
            lists.push(ms);
        }
        reap();
    }
    let some = |samples: Vec<f64>| (!samples.is_empty()).then(|| median(&samples));
    Ok(Step {
        jobs,
        pss: each(taken.pss),
        private_dirty: each(taken.private_dirty),
        processes: each(supervisors.len() as u64),
        kernel: each(kernel),
        launch_ms: some(launches),
        list_ms: some(lists),
    })
}

fn idle(bench: &Bench, name: &str, supervisors: &[i32]) -> Result<Idle, BenchError> {
    let seconds = match name {
        "outlive" => bench.pick(60, 10),
        _ => bench.pick(5, 3),
    };
    let before = activity(supervisors);
    // Nothing may happen in this time.
    thread::sleep(Duration::from_secs(seconds));
    let did = activity(supervisors).since(before);
    let calls = match name {
        "outlive" => Some(traced_calls(bench, supervisors)?),
        _ => None,
    };
    Ok(Idle {
        seconds: seconds as f64,
        runs: did.runs,
        switches: did.switches,
        processor_ms: did.processor_ns as f64 / 1e6,
        calls,
    })
}

/// How many system calls of these processes return within ten seconds.
fn traced_calls(bench: &Bench, pids: &[i32]) -> Result<usize, BenchError> {
    let trace = bench.directory()?.join("trace");
    let mut strace = Command::new(contender::program("strace")?);
    strace.arg("-o").arg(&trace).stderr(Stdio::null());
    for pid in pids {
        strace.args(["-p", &pid.to_string()]);
    }
    let mut strace = strace.spawn().map_err(|error| error.to_string())?;
    let traced = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        status.is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
    };
    until("all are traced", || pids.iter().all(traced))?;
    thread::sleep(Duration::from_secs(10));
    let pid = rustix::process::Pid::from_child(&strace);
    rustix::process::kill_process(pid, rustix::process::Signal::INT)
        .map_err(|error| error.to_string())?;
    strace.wait().map_err(|error| error.to_string())?;
    let text = fs::read_to_string(trace).map_err(|error| error.to_string())?;
    match text.lines().count() {
        0 => Err("strace saw nothing".into()),
        _ => Ok(text.lines().filter(|line| line.contains(" = ")).count()),
    }
}

impl Step {
    fn row(&self, name: &str) -> Vec<Cell> {
        let ms = |value: Option<f64>| value.map_or(Cell::text("–"), |ms| Cell::Number(ms, 2));
        vec![
            Cell::text(name),
            Cell::Number(self.pss, 1),
            Cell::Number(self.private_dirty, 1),
            Cell::Number(self.processes, 2),
            Cell::Number(self.kernel, 0),
            ms(self.launch_ms),
            ms(self.list_ms),
        ]
    }
}

impl Idle {
    fn row(&self, name: &str) -> Vec<Cell> {
        let minute = |value: f64| Cell::Number(value * 60.0 / self.seconds, 0);
        vec![
            Cell::text(name),
            minute(self.runs as f64),
            minute(self.switches as f64),
            minute(self.processor_ms),
            self.calls
                .map_or(Cell::text("–"), |calls| minute(calls as f64)),
            Cell::text(format!("{:.0} s", self.seconds)),
        ]
    }
}

fn growth(name: &'static str, steps: &[Step]) -> Vec<Growth> {
    let line = |what, value: fn(&Step) -> Option<f64>| Growth {
        what,
        name,
        points: steps
            .iter()
            .filter_map(|step| Some((step.jobs as f64, value(step)?)))
            .filter(|(_, value)| *value > 0.0)
            .collect(),
    };
    let lines = [
        line("supervisors' memory for each job, kB (PSS)", |step| {
            Some(step.pss)
        }),
        line("starting one more, ms", |step| step.launch_ms),
        line("listing, ms", |step| step.list_ms),
    ];
    lines
        .into_iter()
        .filter(|line| !line.points.is_empty())
        .collect()
}
