//! Reading pages of a large log: the cost of a page, as a multiple of starting the program.

use crate::BenchError;
use crate::clock::timed;
use crate::contender::Outlive;
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, median};
use serde_json::Value;

/// Bytes in a line, including its end.
const LINE: u64 = 16;

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let lines = bench.pick(10_000_000_000u64, 1_000_000_000) / LINE;
    let outlive = Outlive::new("outlive", &bench.outlive, bench.directory()?, &[]);
    let script = format!("seq -f %015.0f 0 {}", lines - 1);
    let job = outlive.ok(&["run", "--max-output", "0", "--shell", &script])?;
    outlive.ok(&["wait", &job])?;
    let (middle, end) = (lines / 2, lines * LINE);
    let offset = middle.to_string();
    let page = ["log", &job, "--offset", &offset, "--lines", "200"];
    let numbered = [&page[..], &["--json"]].concat();
    check(&outlive.ok(&numbered)?, middle, lines)?;
    let range = format!("{}:{}", end / 2, end / 2 + 65536);
    let cursor = format!("b{}", end - 4096);
    let pages: [(&str, Vec<&str>); 6] = [
        ("floor: `outlive --version`", vec!["--version"]),
        ("last 200 lines", vec!["log", &job]),
        ("200 lines from the middle", page.to_vec()),
        ("the same with all line numbers (`--json`)", numbered),
        ("64 KiB by offset", vec!["log", &job, "--bytes", &range]),
        (
            "new since a cursor (`--json`)",
            vec!["log", &job, "--cursor", &cursor, "--json"],
        ),
    ];
    let mut samples = [const { Vec::new() }; 6];
    for _ in 0..bench.pick(30, 15) {
        for ((_, args), samples) in pages.iter().zip(&mut samples) {
            let (ms, read) = timed(|| outlive.ok(args));
            read?;
            samples.push(ms);
        }
    }
    bench.clear();
    let mut table = Table::new(
        format!("{lines} lines, {:.1} GB", end as f64 / 1e9),
        &["page", "median ms", "x floor"],
    );
    let floor = median(&samples[0]);
    for ((name, _), samples) in pages.iter().zip(&samples) {
        table.row([
            Cell::text(*name),
            Cell::Number(median(samples), 2),
            Cell::Number(median(samples) / floor, 2),
        ]);
    }
    let mut measured = Measured::default();
    let middle = median(&samples[2]);
    measured.verdict(
        "`log` page in the middle of a large log",
        "≤ 10 ms",
        format!("{middle:.2} ms"),
        middle <= 10.0,
    );
    measured.tables.push(table);
    Ok(measured)
}

/// Checks that this is the right page.
fn check(page: &str, middle: u64, lines: u64) -> Result<(), BenchError> {
    let page: Value = serde_json::from_str(page).map_err(|error| error.to_string())?;
    match page["from_line"] == middle && page["total_lines"] == lines {
        true => Ok(()),
        false => Err(format!("a wrong page: from line {}", page["from_line"])),
    }
}
