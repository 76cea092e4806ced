//! What a verb takes: with a connection, without one, and the first time.

use super::site::Site;
use super::{Row, rounds, table};
use crate::BenchError;
use crate::clock::timed;
use crate::contender::output_of;
use crate::measure::median_of;
use crate::report::Measured;
use crate::run::Bench;
use std::process::Command;

/// The milliseconds of a command that must succeed.
fn time(command: &mut Command) -> Result<f64, BenchError> {
    let (ms, done) = timed(|| output_of(command));
    done.map(|_| ms)
}

pub fn take(bench: &Bench, site: &Site, measured: &mut Measured) -> Result<(), BenchError> {
    let place = site.place();
    let there = site.ok(&["run", "--place", &place, "--", "sleep", "1000000"])?;
    let here = site.ok(&["run", "--", "sleep", "1000000"])?;
    let rows: Vec<Row> = vec![
        (
            "ssh host true",
            Box::new(|| time(&mut site.ssh_run(&["true"]))),
        ),
        (
            "ssh host true, master",
            Box::new(|| time(&mut site.ssh_over_master(&["true"]))),
        ),
        (
            "show, here",
            Box::new(|| time(&mut site.outlive(&["show", &here]))),
        ),
        (
            "show, there",
            Box::new(|| time(&mut site.outlive(&["show", &there]))),
        ),
        (
            "run, here",
            Box::new(|| time(&mut site.outlive(&["run", "--", "true"]))),
        ),
        (
            "run, there",
            Box::new(|| time(&mut site.outlive(&["run", "--place", &place, "--", "true"]))),
        ),
    ];
    let samples = rounds(rows, bench.pick(200, 30));
    let of = |name| median_of(&samples, name).unwrap_or(f64::NAN);
    let call = of("show, there") - of("show, here");
    measured.verdict(
        "places: one call with a connection",
        "≤ 1 ms more than here",
        format!("{call:.2} ms"),
        call <= 1.0,
    );
    let run = of("run, there") - of("run, here");
    measured.verdict(
        "places: `run` with a connection",
        "≤ here + 2 ms",
        format!("+{run:.2} ms"),
        run <= 2.0,
    );
    measured
        .tables
        .push(table("with an open connection", &samples));
    without_connection(bench, site, measured);
    Ok(())
}

fn without_connection(bench: &Bench, site: &Site, measured: &mut Measured) {
    let place = site.place();
    let run = ["run", "--place", &place, "--", "true"];
    let rows: Vec<Row> = vec![
        (
            "ssh host true",
            Box::new(|| time(&mut site.ssh_run(&["true"]))),
        ),
        (
            "run, no courier",
            Box::new(|| time(&mut site.outlive_anew(&run))),
        ),
        (
            "run, first use of the host",
            Box::new(|| {
                site.forget_program()?;
                time(&mut site.outlive_anew(&run))
            }),
        ),
    ];
    let samples = rounds(rows, bench.pick(20, 6));
    let of = |name| median_of(&samples, name).unwrap_or(f64::NAN);
    let ratio = of("run, no courier") / of("ssh host true");
    measured.verdict(
        "places: `run` with no courier",
        "≤ 1.15 x `ssh host true`",
        format!("{ratio:.2}x"),
        ratio <= 1.15,
    );
    let more = of("run, first use of the host") - of("ssh host true");
    measured.verdict(
        "places: first use of a host",
        "≤ ssh + 150 ms",
        format!("+{more:.0} ms"),
        more <= 150.0,
    );
    measured
        .tables
        .push(table("without a connection", &samples));
    if let Ok(bytes) = sent(site) {
        let megabytes = bytes / 1e6;
        measured.verdict(
            "places: sent at the first use",
            "≤ 2 MB",
            format!("{megabytes:.2} MB"),
            megabytes <= 2.0,
        );
    }
}

/// The size of our program as it is sent.
fn sent(site: &Site) -> Result<f64, BenchError> {
    let script = format!("gzip -9c '{}'/far-* | wc -c", site.programs().display());
    let text = output_of(Command::new("sh").args(["-c", &script]))?;
    text.trim()
        .parse()
        .map_err(|_| format!("it is no number: {text}"))
}
