//! How fast an output is scanned for patterns.
//!
//!     cargo run --release -p outlive-keeper --example scanning [MiB]
//!
//! Log text is made once and pushed through a scanner again and again from memory, in chunks as a
//! keeper reads them, until that much has passed (1 GiB unless told otherwise). The floor is memchr for
//! a byte that is not there, over the same bytes in the same run; these machines are noisy, so read the
//! ratios.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

use outlive_core::watch::Pattern;
use outlive_keeper::watch::{Patterns, Scanner};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

const CHUNK: usize = 128 * 1024;
/// More than the processor's caches hold, so that the bytes come from memory.
const TEXT: usize = 64 * 1024 * 1024;

fn main() {
    let mib: usize = std::env::args()
        .nth(1)
        .and_then(|argument| argument.parse().ok())
        .unwrap_or(1024);
    let rounds = (mib * 1024 * 1024).div_ceil(TEXT);
    let plain = log_text(["", ""]);
    let coloured = log_text(["\x1b[32m", "\x1b[0m"]);
    println!("{:42}{:>9}{:>9}{:>9}", "", "MB/s", "x memchr", "matches");
    for (name, text) in [("plain", &plain), ("coloured", &coloured)] {
        let floor = rate(text, rounds, |bytes| {
            black_box(memchr::memchr(b'\x00', bytes));
        });
        println!("{:42}{floor:9.0}{:9.2}", format!("{name}: memchr"), 1.0);
        for (what, patterns) in cases() {
            let patterns = Patterns::compile(&patterns).expect("they compile");
            let mut scanner = Scanner::new(patterns);
            let mut matches = 0;
            let rate = rate(text, rounds, |bytes| {
                scanner.push(bytes, &mut |_| matches += 1);
            });
            let name = format!("{name}: {what}");
            println!("{name:42}{rate:9.0}{:9.2}{matches:9}", rate / floor);
        }
    }
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
            "(?i)\\b(fatal|panic)\\b",
            vec![regex(r"(?i)\b(fatal|panic)\b")],
        ),
        ("^\\[?ERROR", vec![regex(r"^\[?ERROR")]),
        ("\\w+Exception: .*", vec![regex(r"\w+Exception: .*")]),
        (
            "\\d+ (tests? )?failed$",
            vec![regex(r"\d+ (tests? )?failed$")],
        ),
        ("[A-Z]{9,}", vec![regex("[A-Z]{9,}")]),
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

/// Lines of a hundred bytes or so, no two alike.
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

/// MB/s.
fn rate(text: &[u8], rounds: usize, mut each: impl FnMut(&[u8])) -> f64 {
    let start = Instant::now();
    for _ in 0..rounds {
        text.chunks(CHUNK).for_each(&mut each);
    }
    (text.len() * rounds) as f64 / start.elapsed().as_secs_f64() / 1e6
}
