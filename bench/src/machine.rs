//! What was measured on, and with what.

use crate::contender::output_of;
use crate::run::Bench;
use std::fs;
use std::process::Command;

/// The Debian packages of the peers, whose versions are told.
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
    vec![
        format!(
            "{count} processors ({model}), Linux {}, {} underneath; load average before {}",
            outlive_sys::probe::kernel(),
            filesystem.unwrap_or_else(|_| "an unknown filesystem".into()),
            load()
        ),
        format!("against {}", versions(bench)),
    ]
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
