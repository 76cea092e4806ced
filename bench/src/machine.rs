//! Describes the machine and the versions of the programs.

use crate::contender::output_of;
use crate::run::Bench;
use std::fs;
use std::process::Command;
use std::time::Instant;

/// The Debian packages of the peers, whose versions are printed.
const PACKAGES: [&str; 11] = [
    "util-linux",
    "daemonize",
    "nq",
    "task-spooler",
    "dtach",
    "screen",
    "tmux",
    "conmon",
    "s6",
    "runit",
    "supervisor",
];

pub fn describe(bench: &Bench) -> Vec<String> {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unknown processor", |(_, model)| model);
    let count = std::thread::available_parallelism().map_or(0, |count| count.get());
    let filesystem = output_of(
        Command::new("stat")
            .args(["-f", "-c", "%T"])
            .arg(&bench.work),
    );
    let mut lines = vec![
        format!(
            "{count} processors ({model}), Linux {}, {}, which creates a file in {}; \
             load average before: {}",
            outlive_sys::offers::kernel(),
            filesystem.unwrap_or_else(|_| "an unknown filesystem".into()),
            making_a_file(bench).unwrap_or_else(|| "unknown time".into()),
            load()
        ),
        format!("against {}", versions(bench)),
    ];
    if is_real_time() {
        lines.push(
            "with real-time scheduling: the measured programs had priority over everything else. A supervisor \
             that always runs at once takes each page of output by itself, so `capture` and `watching` look \
             worse here than they are"
                .into(),
        );
    }
    lines
}

/// How long it takes to create a file. A launch of Outlive creates seven, and most peers create one.
fn making_a_file(bench: &Bench) -> Option<String> {
    const FILES: u32 = 64;
    let directory = bench.directory().ok()?;
    let since = Instant::now();
    for number in 0..FILES {
        fs::File::create(directory.join(number.to_string())).ok()?;
    }
    let each = since.elapsed() / FILES;
    Some(format!("{} µs", each.as_micros()))
}

/// Whether the harness, and so everything that it starts, has priority over ordinary processes.
fn is_real_time() -> bool {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The 41st field of proc(5) is the scheduling policy; 0 is the ordinary one. The index counts from
    // the third field.
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest);
    let policy = fields.and_then(|rest| rest.split(' ').nth(41 - 3));
    matches!(policy, Some("1" | "2"))
}

pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

fn versions(bench: &Bench) -> String {
    let mut found: Vec<String> = PACKAGES
        .iter()
        .filter_map(|package| {
            let mut query = Command::new("dpkg-query");
            output_of(query.args(["-W", "-f", "${Package} ${Version}", package])).ok()
        })
        .collect();
    let pueue = bench.pueue.as_ref().map(|programs| programs.join("pueue"));
    let others = [pueue, Some("python3".into())].into_iter().flatten();
    found.extend(
        others.filter_map(|program| output_of(Command::new(program).arg("--version")).ok()),
    );
    found.join(", ")
}
