//! Many short jobs, a few at a time, until every end is recorded.

use super::median_of;
use crate::BenchError;
use crate::clock::timed;
use crate::contender::{self, Contender, Entry, Outlive, by_hands};
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, Between, median};

const JOBS: usize = 400;
const WIDTH: usize = 4;

/// Never more than this many at once, like a queue: each launcher stays until its job has ended.
static STRICT: Entry = Entry {
    name: "outlive run --wait",
    make: |bench, dir| {
        let outlive = Outlive::new("outlive run --wait", &bench.outlive, dir, &[]);
        Ok(Box::new(Strict(outlive)))
    },
};

struct Strict(Outlive);

impl Contender for Strict {
    fn name(&self) -> &'static str {
        STRICT.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.0.start(argv)
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        by_hands(jobs, width, |_| {
            self.0.ok(&["run", "--wait", "--", "true"]).map(drop)
        })
    }
}

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let field = contender::all().chain([&STRICT]);
    let samples = bench.rounds(Between::Beside, field, bench.pick(7, 3), |one| {
        let (ms, done) = timed(|| one.storm(JOBS, WIDTH));
        done.map(|()| JOBS as f64 / ms * 1e3)
    });
    let tsp = median_of(&samples, "task-spooler").unwrap_or(f64::NAN);
    let ours = median_of(&samples, "outlive").unwrap_or(f64::NAN);
    let mut table = Table::new(
        format!("{JOBS} times `true`, {WIDTH} at a time"),
        &["", "jobs/s", "x task-spooler"],
    );
    for (name, samples) in &samples {
        let name = match *name {
            "setsid -f" => "floor: fork, exec and wait, with no record",
            name => name,
        };
        match samples {
            Err(why) => table.missing(name, why),
            Ok(samples) => table.row([
                Cell::text(name),
                Cell::Number(median(samples), 0),
                Cell::Number(median(samples) / tsp, 2),
            ]),
        }
    }
    let mut measured = Measured::default();
    measured.tables.push(table);
    measured.verdict(
        "storm",
        "≥ 0.5x task-spooler",
        format!("{:.2}x ({ours:.0} jobs/s)", ours / tsp),
        ours >= 0.5 * tsp,
    );
    Ok(measured)
}
