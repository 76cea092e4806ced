//! The cost of a watch: the keeper's processor time for this much output, with and without a watch.
//!
//! This is processor time. On a shared machine, elapsed time depends on other programs. The job waits
//! for its keeper only if the keeper is slower than the job.

use super::capture::capture;
use crate::BenchError;
use crate::contender::Outlive;
use crate::job::Text;
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, median};

const WATCHES: [(&str, &[&str]); 3] = [
    ("none", &[]),
    ("`--watch ERROR`", &["--watch", "ERROR"]),
    (
        "`--watch-regex '^(ERROR|FATAL)'`",
        &["--watch-regex", "^(ERROR|FATAL)"],
    ),
];

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let bytes = bench.pick(1_000_000_000, 200_000_000);
    let mut table = Table::new(
        format!("{} MB, in which no line matches", bytes / 1_000_000),
        &["", "watch", "keeper s/GB", "x none", "MB/s"],
    );
    for text in [Text::Endless, Text::Lines, Text::ShortLines] {
        let mut costs = [const { Vec::new() }; WATCHES.len()];
        let mut rates = costs.clone();
        for _ in 0..bench.pick(5, 3) {
            for (at, (_, options)) in WATCHES.iter().enumerate() {
                let mut it = Outlive::new("outlive", &bench.outlive, bench.directory()?, options);
                let captured = capture(bench, &mut it, text, bytes)?;
                costs[at].push(captured.supervisor_s_per_gb);
                rates[at].push(captured.mb_per_s);
                bench.clear();
            }
        }
        for (at, (watch, _)) in WATCHES.iter().enumerate() {
            table.row([
                Cell::text(text.words()),
                Cell::text(*watch),
                Cell::Number(median(&costs[at]), 2),
                Cell::Number(median(&costs[at]) / median(&costs[0]), 2),
                Cell::Number(median(&rates[at]), 0),
            ]);
        }
    }
    let mut measured = Measured::default();
    measured.tables.push(table);
    Ok(measured)
}
