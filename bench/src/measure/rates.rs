//! The speed of the parts that read every byte of text, from memory.
//!
//! Log text is made once and processed again and again, in chunks as a keeper reads them. The baseline
//! is memchr for a byte that does not occur, over the same bytes in the same run.

use super::scanning;
use crate::BenchError;
use crate::report::{Cell, Measured, Table};
use crate::run::Bench;
use outlive::redact::Redactor;
use outlive::view::{Options, View};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

const CHUNK: usize = 128 * 1024;
/// More than the processor's caches hold, so that the bytes come from memory.
const TEXT: usize = 64 * 1024 * 1024;

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let rounds = bench.pick(16, 3);
    let plain = log_text(["", ""]);
    let coloured = log_text(["\x1b[32m", "\x1b[0m"]);
    let texts = [("plain", &plain[..]), ("coloured", &coloured[..])];
    let (scanned, slowest) = scanning::table(texts, rounds)?;
    let mut table = Table::new("as text, and without secrets", &["", "what", "MB/s"]);
    let mut redacted = f64::INFINITY;
    for (name, text) in texts {
        let viewing = rate_of_whole(text, rounds.div_ceil(4), |bytes| {
            let mut view = View::new(Options::default());
            bytes.chunks(CHUNK).for_each(|chunk| view.push(chunk));
            black_box(view.finish());
        });
        table.row([
            Cell::text(name),
            Cell::text("view"),
            Cell::Number(viewing, 0),
        ]);
        let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
        let redacting = rate_of_whole(text.as_bytes(), rounds.div_ceil(4), |_| {
            black_box(Redactor::default().redact(text));
        });
        redacted = redacted.min(redacting);
        table.row([
            Cell::text(name),
            Cell::text("redaction"),
            Cell::Number(redacting, 0),
        ]);
    }
    let mut measured = Measured::default();
    measured.verdict(
        "watch scanning",
        "≥ 0.25 GB/s",
        format!("{:.2} GB/s at the slowest", slowest / 1e3),
        slowest >= 250.0,
    );
    measured.verdict(
        "redaction",
        "≥ 200 MB/s",
        format!("{redacted:.0} MB/s"),
        redacted >= 200.0,
    );
    measured.tables.extend([scanned, table]);
    Ok(measured)
}

/// Lines of about a hundred bytes, all different.
fn log_text(colour: [&str; 2]) -> Vec<u8> {
    let mut text = String::with_capacity(TEXT + 200);
    let [on, off] = colour;
    let mut number = 0u64;
    while text.len() < TEXT {
        number += 1;
        let (ms, id) = (number % 1000, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let level = ["INFO", "DEBUG", "INFO", "WARN"][(number % 4) as usize];
        writeln!(
            text,
            "2025-06-01T12:{:02}:{:02}.{ms:03}Z {on}{level:5}{off} worker::pool: request {id:016x} \
             done shard={} in {on}{ms} ms{off}, 200 OK, 0 errors",
            number / 60_000 % 60,
            number / 1000 % 60,
            number % 8,
        )
        .expect("a string takes all");
    }
    text.into_bytes()
}

/// MB/s in chunks.
pub fn rate(text: &[u8], rounds: usize, mut each: impl FnMut(&[u8])) -> f64 {
    rate_of_whole(text, rounds, |text| text.chunks(CHUNK).for_each(&mut each))
}

/// MB/s for the whole text at once.
fn rate_of_whole(text: &[u8], rounds: usize, mut each: impl FnMut(&[u8])) -> f64 {
    let start = Instant::now();
    for _ in 0..rounds {
        each(text);
    }
    (text.len() * rounds) as f64 / start.elapsed().as_secs_f64() / 1e6
}
