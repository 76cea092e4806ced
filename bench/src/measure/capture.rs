//! Capturing a job's output at full speed.

use crate::BenchError;
use crate::contender::{self, Contender, Entry, Outlive};
use crate::job::{Text, Writer};
use crate::processes::{activity, jobs_and_supervisors};
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, Between, median};
use std::thread;
use std::time::Duration;

/// The programs that are the job. All other processes keep it.
const JOB: [&str; 2] = ["outlive-bench", "head"];

/// Keeps everything, like the peers. By default, outlive keeps 64 MiB.
static UNBOUNDED: Entry = Entry {
    name: "outlive, all of it kept",
    make: |bench, dir| {
        let options = &["--max-output", "0"];
        Ok(Box::new(Outlive::new(
            "outlive, all of it kept",
            &bench.outlive,
            dir,
            options,
        )))
    },
};

/// What one round measured.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    pub mb_per_s: f64,
    pub supervisor_s_per_gb: f64,
}

/// Makes a job write this much.
pub fn capture(
    bench: &Bench,
    it: &mut dyn Contender,
    text: Text,
    bytes: u64,
) -> Result<Captured, BenchError> {
    let writer = Writer::new(&bench.directory()?, text, bytes)?;
    let argv = writer.argv(&bench.me);
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    it.start_captured(&argv)?;
    thread::sleep(Duration::from_millis(50));
    let before = activity(&jobs_and_supervisors(&JOB).1);
    writer.begin.let_one_go()?;
    let seconds = writer.seconds()?;
    // The rest in the pipes is read within this time.
    thread::sleep(Duration::from_millis(100));
    let spent = activity(&jobs_and_supervisors(&JOB).1).since(before);
    writer.end.let_one_go()?;
    let gb = bytes as f64 / 1e9;
    Ok(Captured {
        mb_per_s: gb * 1e3 / seconds,
        supervisor_s_per_gb: spent.processor_ns as f64 / 1e9 / gb,
    })
}

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let mut measured = Measured::default();
    for text in [Text::Head, Text::Lines] {
        let mut costs: Vec<(&str, f64)> = Vec::new();
        let samples = bench.rounds(
            Between::Anew,
            contender::all().chain([&UNBOUNDED]),
            3,
            |one| {
                one.output()?;
                let bytes = size(bench, one.name());
                let captured = capture(bench, one, text, bytes)?;
                costs.push((one.name(), captured.supervisor_s_per_gb));
                Ok(captured.mb_per_s)
            },
        );
        let (table, rates) = table(bench, text, &samples, &costs);
        measured.tables.push(table);
        judge(&mut measured, text, &rates, &costs);
    }
    measured.notes.push(
        "Measured by the job's own clock, from its first write to its last. screen, tmux, svlogd and s6-log \
         get less output, because they would take minutes; the table compares rates."
            .into(),
    );
    measured.notes.push(
        "The Python registry reads up to 64 KiB and then writes them, so what it has read is lost if it is \
         killed. outlive moves the bytes to the file in one step. It also counts their lines, and by default \
         it frees the disk space of the middle."
            .into(),
    );
    Ok(measured)
}

fn size(bench: &Bench, name: &str) -> u64 {
    let whole = bench.pick(2u64 << 30, 256 << 20);
    match name {
        "tmux" | "screen" | "runit with svlogd" | "s6 with s6-log" => whole / 32,
        _ => whole,
    }
}

type Rates = Vec<(&'static str, f64)>;

fn table(
    bench: &Bench,
    text: Text,
    samples: &[crate::run::Samples],
    costs: &[(&str, f64)],
) -> (Table, Rates) {
    let whole = size(bench, "outlive") >> 20;
    let mut table = Table::new(
        format!("{whole} MiB of {}", text.words()),
        &[
            "",
            "written by",
            "MB/s",
            "x floor",
            "supervisors' processor s/GB",
        ],
    );
    let floor = super::floor(samples);
    let mut rates = Vec::new();
    for (entry, (name, samples)) in contender::all().chain([&UNBOUNDED]).zip(samples) {
        match samples {
            Err(why) => table.missing(name, why),
            Ok(samples) => {
                let writer = bench.enter(entry).and_then(|one| one.output());
                rates.push((*name, median(samples)));
                table.row([
                    Cell::text(*name),
                    Cell::text(writer.map_or("?", |writer| writer.words())),
                    Cell::Number(median(samples), 0),
                    Cell::Number(median(samples) / floor, 2),
                    Cell::Number(cost(costs, name), 2),
                ]);
            }
        }
    }
    bench.clear();
    (table, rates)
}

fn cost(costs: &[(&str, f64)], name: &str) -> f64 {
    let own = costs.iter().filter(|(one, _)| *one == name);
    median(&own.map(|(_, cost)| *cost).collect::<Vec<_>>())
}

fn judge(measured: &mut Measured, text: Text, rates: &Rates, costs: &[(&str, f64)]) {
    let rate = |wanted: &str| {
        let found = rates.iter().find(|(name, _)| *name == wanted);
        found.map_or(f64::NAN, |(_, rate)| *rate)
    };
    let ratio = rate("outlive") / rate("setsid -f");
    let cost = cost(costs, "outlive");
    let measure = match text {
        Text::Head => "capture, `head -c`",
        _ => "capture, lines",
    };
    measured.verdict(
        measure,
        "≥ 0.9x `> file`",
        format!("{ratio:.2}x"),
        ratio >= 0.9,
    );
    measured.verdict(
        measure,
        "keeper's processor ≤ 0.6 s/GB",
        format!("{cost:.2} s/GB"),
        cost <= 0.6,
    );
    // The contenders that read the output themselves, as outlive does.
    let supervising = [
        "conmon",
        "s6 with s6-log",
        "runit with svlogd",
        "supervisord",
        "screen",
        "tmux",
        "Python registry",
    ];
    let best = rates.iter().filter(|(name, _)| supervising.contains(name));
    let best = best.max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((name, best)) = best {
        let lead = rate("outlive") / best;
        measured.verdict(
            measure,
            "ahead of every supervising peer",
            format!("{lead:.1}x the next, {name}"),
            lead > 1.0,
        );
    }
}
