//! Compares Outlive with its peers and with no supervisor, in one run.
//!
//! `cargo xtask bench` builds the programs, installs the peers and runs this. Each measure is one file
//! in `measure`, each contender one in `contender`. Read the ratios: the machines are noisy, so
//! contenders take turns, and each table has its own baseline.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to whoever runs it"
)]

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod budgets;
mod clock;
mod contender;
mod job;
mod machine;
mod measure;
mod plot;
mod processes;
mod report;
mod run;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod servers;

use processes::Watchdog;
use report::{Report, Section};
use run::Bench;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Why something could not be measured, as text for the table.
type BenchError = String;

/// No measure takes this long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(15 * 60);

const USAGE: &str = "\
outlive-bench --programs DIR --out DIR [--pueue DIR] [--only MEASURE]… [--short]

--programs DIR   where the `outlive` and `outlive-keeper` to be measured are
--out DIR        where performance.md, .json and .svg are written
--pueue DIR      where `pueue` and `pueued` are
--only MEASURE   only this one; may be repeated
--short          fewer rounds and less data: minutes, not half an hour
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("job") => return job::run(&arguments[1..]),
        Some("create") => return contender::runtime(&arguments),
        // conmon calls the runtime with other commands too, which need no work.
        Some("delete" | "kill" | "state") => return ExitCode::SUCCESS,
        _ => {}
    }
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help"] => {
            println!("{USAGE}\n{}", measures());
            Ok(())
        }
        _ => Arguments::read(&arguments).and_then(|asked| bench(&asked)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Arguments {
    programs: PathBuf,
    out: PathBuf,
    pueue: Option<PathBuf>,
    only: Vec<String>,
    short: bool,
}

impl Arguments {
    fn read(arguments: &[String]) -> Result<Arguments, BenchError> {
        let mut asked = Arguments::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(USAGE.to_owned());
            match word.as_str() {
                "--programs" => asked.programs = value()?.into(),
                "--out" => asked.out = value()?.into(),
                "--pueue" => asked.pueue = Some(value()?.into()),
                "--only" => asked.only.push(value()?.clone()),
                "--short" => asked.short = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        let known = |name: &String| measure::MEASURES.iter().any(|one| one.name == name);
        match asked.only.iter().find(|name| !known(name)) {
            None if !asked.out.as_os_str().is_empty() => Ok(asked),
            None => Err(USAGE.to_owned()),
            Some(_) => Err(measures()),
        }
    }
}

fn measures() -> String {
    let about = measure::MEASURES.map(|one| format!("{:10}{}", one.name, one.about));
    format!("the measures are\n{}", about.join("\n"))
}

/// Makes ext4 spread the files of this directory over the disk. For five minutes after a file is
/// removed, ext4 checks what was removed whenever it creates a file nearby. After a measure with many
/// jobs, or after a build, creating files would be twenty times slower. Other filesystems do not have
/// this problem.
fn spread(directory: &Path) {
    let _ = Command::new("chattr")
        .arg("+T")
        .arg(directory)
        .stderr(Stdio::null())
        .status();
}

fn bench(asked: &Arguments) -> Result<(), BenchError> {
    let said = |error: std::io::Error| error.to_string();
    let outlive = fs::canonicalize(asked.programs.join("outlive"))
        .map_err(|error| format!("{}/outlive: {error}", asked.programs.display()))?;
    fs::create_dir_all(&asked.out).map_err(said)?;
    let out = fs::canonicalize(&asked.out).map_err(said)?;
    let work = out.join("w");
    fs::create_dir(&work)
        .map_err(|error| format!("{}: {error}; is another run at work there?", work.display()))?;
    spread(&work);
    let bench = Bench {
        outlive,
        pueue: asked.pueue.clone(),
        work,
        me: std::env::current_exe().map_err(said)?,
        short: asked.short,
        taken: Cell::new(0),
    };
    processes::become_reaper()?;
    let report = measure_all(&bench, &asked.only);
    bench.clear();
    fs::remove_dir_all(&bench.work).map_err(said)?;
    write(&out, &report)
}

fn measure_all(bench: &Bench, only: &[String]) -> Report {
    let mut machine = machine::describe(bench);
    let mut sections = Vec::new();
    let start = Instant::now();
    for one in &measure::MEASURES {
        if !only.is_empty() && !only.iter().any(|name| name == one.name) {
            continue;
        }
        eprintln!("{}: {}", one.name, one.about);
        let began = Instant::now();
        let _watchdog = Watchdog::after(LIMIT);
        sections.push(Section {
            name: one.name,
            about: one.about,
            measured: (one.take)(bench),
        });
        bench.clear();
        eprintln!("  took {:.0} s", began.elapsed().as_secs_f64());
    }
    machine.push(format!(
        "{} form, {:.1} minutes; load average afterwards {}",
        bench.pick("whole", "short"),
        start.elapsed().as_secs_f64() / 60.0,
        machine::load()
    ));
    Report { machine, sections }
}

fn write(out: &Path, report: &Report) -> Result<(), BenchError> {
    let text = report.markdown();
    println!("{text}");
    let json = serde_json::to_string_pretty(&report.json()).map_err(|error| error.to_string())?;
    let growth = report.growth();
    let mut files = vec![("performance.md", text), ("performance.json", json + "\n")];
    if !growth.is_empty() {
        files.push(("performance.svg", plot::svg(&growth)));
    }
    for (name, text) in files {
        let path = out.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
