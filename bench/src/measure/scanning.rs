//! The speed of scanning an output for the patterns of a watch.

use super::rates::rate;
use crate::BenchError;
use crate::report::{Cell, Table};
use outlive_core::watch::Pattern;
use outlive_keeper::watch::{Patterns, Scanner};
use std::hint::black_box;

/// Scans both texts for every case. Also returns the lowest speed.
pub fn table(texts: [(&str, &[u8]); 2], rounds: usize) -> Result<(Table, f64), BenchError> {
    let mut table = Table::new(
        "scanning for patterns; only the rows with matches contain any",
        &["", "patterns", "MB/s", "x memchr", "matches"],
    );
    let mut slowest = f64::INFINITY;
    for (name, text) in texts {
        let floor = rate(text, rounds, |bytes| {
            black_box(memchr::memchr(b'\x00', bytes));
        });
        table.row([
            Cell::text(name),
            Cell::text("floor: memchr"),
            Cell::Number(floor, 0),
            Cell::Number(1.0, 2),
        ]);
        for (what, patterns) in cases() {
            let patterns = Patterns::compile(&patterns).map_err(|error| error.to_string())?;
            let mut scanner = Scanner::new(patterns);
            let mut matches = 0;
            let rate = rate(text, rounds, |bytes| {
                scanner.push(bytes, &mut |_| matches += 1);
            });
            slowest = slowest.min(rate);
            table.row([
                Cell::text(name),
                Cell::text(what),
                Cell::Number(rate, 0),
                Cell::Number(rate / floor, 2),
                Cell::Number(f64::from(matches), 0),
            ]);
        }
    }
    Ok((table, slowest))
}

fn cases() -> Vec<(&'static str, Vec<Pattern>)> {
    let text = |text: &str| Pattern::Text(text.into());
    let regex = |source: &str| Pattern::Regex(source.into());
    vec![
        ("1 literal", vec![text("Traceback (most recent")]),
        (
            "3 literals",
            vec![
                text("panicked at"),
                text("FAILED"),
                text("Segmentation fault"),
            ],
        ),
        (
            "`(?i)\\b(fatal|panic)\\b`",
            vec![regex(r"(?i)\b(fatal|panic)\b")],
        ),
        ("`^\\[?ERROR`", vec![regex(r"^\[?ERROR")]),
        ("`\\w+Exception: .*`", vec![regex(r"\w+Exception: .*")]),
        (
            "`\\d+ (tests? )?failed$`",
            vec![regex(r"\d+ (tests? )?failed$")],
        ),
        ("`[A-Z]{9,}`", vec![regex("[A-Z]{9,}")]),
        ("`^\\s*\\w+:\\s`", vec![regex(r"^\s*\w+:\s")]),
        (
            "a literal, a regex, one inverted",
            vec![
                text("FAILED"),
                regex(r"exit (code|status) [1-9]"),
                Pattern::NotText("retrying".into()),
            ],
        ),
        ("1 literal in 1 line of 8", vec![text("shard=3")]),
    ]
}
