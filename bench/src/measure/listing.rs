//! Listing running jobs while many ended jobs are kept.

use crate::BenchError;
use crate::clock::timed;
use crate::contender::{ENTRIES, Outlive};
use crate::processes::{jobs_and_supervisors, until};
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, median};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

const RUNNING: usize = 10;

/// How long a peer may take to create that many ended jobs.
const PATIENCE: Duration = Duration::from_secs(150);

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let mut table = Table::new(
        format!("median ms, with {RUNNING} running jobs and this many ended ones"),
        &[
            "",
            "ended",
            "list of what runs",
            "x starting it",
            "list with the newest ended",
        ],
    );
    let mut worst = 0.0f64;
    for ended in [10, 1_000, 10_000, 100_000] {
        let [version, running, newest] = ours(bench, ended)?;
        worst = worst.max(running);
        table.row([
            Cell::text("outlive"),
            Cell::Number(ended as f64, 0),
            Cell::Number(running, 2),
            Cell::Number(running / version, 2),
            Cell::Number(newest, 2),
        ]);
        bench.clear();
    }
    for name in ["task-spooler", "pueue"] {
        for ended in bench.pick(&[10, 1_000, 10_000][..], &[10, 1_000]) {
            match theirs(bench, name, *ended) {
                Ok(ms) => table.row([
                    Cell::text(name),
                    Cell::Number(*ended as f64, 0),
                    Cell::text("–"),
                    Cell::text("–"),
                    Cell::Number(ms, 2),
                ]),
                Err(why) => table.missing(name, &why),
            }
            bench.clear();
        }
    }
    let mut measured = Measured::default();
    measured.verdict(
        "`list` with up to 100,000 ended jobs",
        "flat, ≤ 2 ms",
        format!("{worst:.2} ms at worst"),
        worst <= 2.0,
    );
    measured.tables.push(table);
    measured
        .notes
        .push("The other tools always list every job that they keep.".into());
    Ok(measured)
}

/// Starting the program, listing running jobs, and the default list.
fn ours(bench: &Bench, ended: usize) -> Result<[f64; 3], BenchError> {
    let outlive = Outlive::new("outlive", &bench.outlive, bench.directory()?, &[]);
    keep_ended(&outlive, ended)?;
    for _ in 0..RUNNING {
        outlive.ok(&["run", "--", "sleep", "1000000"])?;
    }
    let asked = [
        &["--version"][..],
        &["list", "--state", "running"],
        &["list"],
    ];
    let mut samples = [const { Vec::new() }; 3];
    for _ in 0..bench.pick(60, 20) {
        for (args, samples) in asked.iter().zip(&mut samples) {
            let (ms, listed) = timed(|| outlive.ok(args));
            listed?;
            samples.push(ms);
        }
    }
    Ok(samples.map(|samples| median(&samples)))
}

/// Creates this many ended jobs quickly: one job under many ids.
fn keep_ended(outlive: &Outlive, count: usize) -> Result<(), BenchError> {
    let made = || -> Result<(), Box<dyn std::error::Error>> {
        let model = outlive.ok(&["run", "--wait", "--json", "--", "true"])?;
        let model: serde_json::Value = serde_json::from_str(&model)?;
        let model = model["id"].as_str().ok_or("no id")?;
        let mut history = String::new();
        for number in 0..count {
            let id = format!("old{number:06}");
            symlink(model, outlive.home.join("jobs").join(&id))?;
            history.push_str(&format!("1 {id}\n"));
        }
        let day = fs::read_dir(outlive.home.join("ended"))?
            .next()
            .ok_or("no day has an ended job")??;
        let mut day = File::options().append(true).open(day.path())?;
        Ok(day.write_all(history.as_bytes())?)
    };
    made().map_err(|error| error.to_string())
}

fn theirs(bench: &Bench, name: &str, ended: usize) -> Result<f64, BenchError> {
    let entry = ENTRIES.iter().find(|entry| entry.name == name);
    let mut it = bench.enter(entry.ok_or("no such contender")?)?;
    for _ in 0..RUNNING {
        it.start(&["sleep", "1000000"])?;
    }
    let mut last = String::new();
    let began = Instant::now();
    for number in 0..ended {
        last = it.start(&["true"])?;
        if began.elapsed() > PATIENCE {
            return Err(format!(
                "only {number} of {ended} jobs had ended after {} s",
                PATIENCE.as_secs()
            ));
        }
    }
    it.wait(&last)?()?;
    until("the others run", || {
        jobs_and_supervisors(&["sleep"]).0.len() == RUNNING
    })?;
    let mut samples = Vec::new();
    for _ in 0..bench.pick(20, 10) {
        let (ms, listed) = timed(|| it.list());
        listed?;
        samples.push(ms);
    }
    Ok(median(&samples))
}
