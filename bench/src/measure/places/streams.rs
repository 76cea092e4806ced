//! How soon a line and an end are here, and how fast an output is read.

use super::site::Site;
use super::{Row, rounds, table};
use crate::BenchError;
use crate::clock::now_ns;
use crate::contender::waiting;
use crate::job::Ender;
use crate::measure::median_of;
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, Samples, median};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time until a waiting process sleeps.
const BEGINNING: Duration = Duration::from_millis(60);

/// Lines that are not looked at: connecting takes as long as some twenty of them.
const SKIPPED: usize = 40;

pub fn take(bench: &Bench, site: &Site, measured: &mut Measured) -> Result<(), BenchError> {
    lines(bench, site, measured)?;
    ends(bench, site, measured);
    output(bench, site, measured)
}

/// How long the lines of a process that prints the time took to come here, in milliseconds.
fn ages(command: &mut Command, count: usize) -> Result<Vec<f64>, BenchError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let mut ages = Vec::new();
    // What was written before the reader began is not news.
    for line in lines.skip(SKIPPED).take(count) {
        let line = line.map_err(|error| error.to_string())?;
        let now = now_ns();
        let written: u64 = line.parse().map_err(|_| format!("no time: {line:?}"))?;
        ages.push(now.saturating_sub(written) as f64 / 1e6);
    }
    let _ = child.kill();
    child.wait().map_err(|error| error.to_string())?;
    match ages.len() == count {
        true => Ok(ages),
        false => Err(format!("only {} lines came", ages.len())),
    }
}

fn lines(bench: &Bench, site: &Site, measured: &mut Measured) -> Result<(), BenchError> {
    let (place, me) = (site.place(), bench.me.to_string_lossy().into_owned());
    let tick = [me.as_str(), "job", "tick"];
    let start = |options: &[&str]| site.ok(&[&["run"], options, &["--"], &tick[..]].concat());
    let (here, there) = (start(&[])?, start(&["--place", &place])?);
    let count = bench.pick(300, 60);
    // All read at the same time, so that noise affects all alike.
    let samples: Vec<Samples> = thread::scope(|scope| {
        let rows = [
            ("ssh host program", site.ssh_run(&tick)),
            ("ssh host program, master", site.ssh_over_master(&tick)),
            (
                "log --follow, here",
                site.outlive(&["log", &here, "--follow"]),
            ),
            (
                "log --follow, there",
                site.outlive(&["log", &there, "--follow"]),
            ),
        ];
        let readers =
            rows.map(|(name, mut command)| (name, scope.spawn(move || ages(&mut command, count))));
        readers
            .into_iter()
            .map(|(name, reader)| {
                (
                    name,
                    reader
                        .join()
                        .unwrap_or_else(|_| Err("it panicked".to_owned())),
                )
            })
            .collect()
    });
    site.ok(&["stop", &here, &there])?;
    let ours = median_of(&samples, "log --follow, there").unwrap_or(f64::NAN);
    measured.verdict(
        "places: a line is here",
        "≤ 1.5 ms",
        format!("{ours:.2} ms"),
        ours <= 1.5,
    );
    measured.tables.push(table(
        "from writing a line there until it is read here",
        &samples,
    ));
    Ok(())
}

fn ends(bench: &Bench, site: &Site, measured: &mut Measured) {
    let place = site.place();
    let plain = || ended(bench, |argv| Ok(site.ssh_run(argv)));
    let by_outlive = |options: &'static [&'static str]| {
        let place = place.clone();
        move || {
            ended(bench, |argv| {
                let options: Vec<&str> = options
                    .iter()
                    .map(|it| if *it == "PLACE" { &place } else { *it })
                    .collect();
                let id = site.ok(&[&["run"], &options[..], &["--"], argv].concat())?;
                Ok(site.outlive(&["wait", &id]))
            })
        }
    };
    let rows: Vec<Row> = vec![
        ("ssh host program", Box::new(plain)),
        ("wait, here", Box::new(by_outlive(&[]))),
        ("wait, there", Box::new(by_outlive(&["--place", "PLACE"]))),
    ];
    let samples = rounds(rows, bench.pick(60, 12));
    let ours = median_of(&samples, "wait, there").unwrap_or(f64::NAN);
    measured.verdict(
        "places: an end is told",
        "≤ 4 ms, synced on both sides",
        format!("{ours:.2} ms"),
        ours <= 4.0,
    );
    measured.tables.push(table(
        "from the job's last act until who waits has returned",
        &samples,
    ));
}

/// The milliseconds from the end of a job to the end of the command that waits for it.
fn ended(
    bench: &Bench,
    waiter: impl Fn(&[&str]) -> Result<Command, BenchError>,
) -> Result<f64, BenchError> {
    let ender = Ender::new(&bench.directory()?)?;
    let argv = ender.argv(&bench.me);
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let finish = waiting(&mut waiter(&argv)?)?;
    // ssh starts the job itself, and needs a connection first.
    thread::sleep(4 * BEGINNING);
    ender.gate.let_one_go()?;
    finish()?;
    let now = now_ns();
    Ok(now.saturating_sub(ender.ended_ns()?) as f64 / 1e6)
}

fn output(bench: &Bench, site: &Site, measured: &mut Measured) -> Result<(), BenchError> {
    let bytes: usize = bench.pick(400, 60) * 1_000_000;
    let file = site.directory().join("large");
    let script = format!("head -c {bytes} /dev/zero | tr '\\0' x");
    let made = Command::new("sh")
        .args(["-c", &format!("{script} > '{}'", file.display())])
        .status();
    made.map_err(|error| error.to_string())?;
    let limit = format!("{}", 2 * bytes);
    let place = site.place();
    let id = site.ok(&[
        "run",
        "--place",
        &place,
        "--max-output",
        &limit,
        "--shell",
        &script,
    ])?;
    site.ok(&["wait", &id])?;
    let file = file.to_string_lossy().into_owned();
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..bench.pick(5, 2) {
        samples[0].push(rate(&mut site.ssh_run(&["cat", &file]), bytes)?);
        samples[1].push(rate(
            &mut site.outlive(&["log", &id, "--raw", "--bytes", "0:"]),
            bytes,
        )?);
    }
    let [plain, ours] = samples.map(|samples| median(&samples));
    let mut table = Table::new("reading an output", &["", "MB/s", "x first row"]);
    for (name, rate) in [("ssh host cat", plain), ("log --raw, there", ours)] {
        table.row([
            Cell::text(name),
            Cell::Number(rate, 0),
            Cell::Number(rate / plain, 2),
        ]);
    }
    measured.verdict(
        "places: output",
        "≥ 0.9 x `ssh host cat`",
        format!("{:.2}x", ours / plain),
        ours >= 0.9 * plain,
    );
    measured.tables.push(table);
    Ok(())
}

/// MB/s of a command that prints so many bytes.
fn rate(command: &mut Command, bytes: usize) -> Result<f64, BenchError> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut out = child.stdout.take().ok_or("no output")?;
    let (mut buffer, mut read) = (vec![0; 256 * 1024], 0);
    loop {
        match out.read(&mut buffer).map_err(|error| error.to_string())? {
            0 => break,
            some => read += some,
        }
    }
    child.wait().map_err(|error| error.to_string())?;
    match read == bytes {
        true => Ok(bytes as f64 / start.elapsed().as_secs_f64() / 1e6),
        false => Err(format!("{read} bytes came, not {bytes}")),
    }
}
