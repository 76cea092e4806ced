//! Jobs on a host that is reached with ssh, beside plain `ssh` and `ssh` over a master connection.
//!
//! The host is this machine, over the loopback interface: what is measured is our own cost. Over a network, each row has
//! its round trips in addition.

mod crowd;
mod site;
mod streams;
mod verbs;

use super::floor;
use crate::BenchError;
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, Samples, median, quantile};
use site::Site;

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let site = Site::new(bench)?;
    let mut measured = Measured::default();
    verbs::take(bench, &site, &mut measured)?;
    streams::take(bench, &site, &mut measured)?;
    crowd::take(bench, &site, &mut measured)?;
    measured.notes.push(
        "Everything runs on one machine. \"here\" is a job of this machine. ssh's master connection is what \
         ControlMaster makes: an open connection that each command uses."
            .into(),
    );
    Ok(measured)
}

/// A row: its name, and a sample of it in milliseconds.
type Row<'a> = (
    &'static str,
    Box<dyn FnMut() -> Result<f64, BenchError> + 'a>,
);

/// Takes one sample of each row in turn, so many times.
fn rounds(rows: Vec<Row>, count: usize) -> Vec<Samples> {
    let mut rows: Vec<(Row, Samples)> = rows
        .into_iter()
        .map(|row| {
            let samples = (row.0, Ok(Vec::new()));
            (row, samples)
        })
        .collect();
    for _ in 0..count {
        for ((_, sample), (_, samples)) in &mut rows {
            if let Ok(taken) = samples {
                match sample() {
                    Ok(value) => taken.push(value),
                    Err(why) => *samples = Err(why),
                }
            }
        }
    }
    rows.into_iter().map(|(_, samples)| samples).collect()
}

/// A table of milliseconds, with the ratio to its first row.
fn table(title: &str, samples: &[Samples]) -> Table {
    let mut table = Table::new(title, &["", "median ms", "25 %", "75 %", "x first row"]);
    let floor = floor(samples);
    for (name, samples) in samples {
        match samples {
            Err(why) => table.missing(name, why),
            Ok(samples) => table.row([
                Cell::text(*name),
                Cell::Number(median(samples), 2),
                Cell::Number(quantile(samples, 0.25), 2),
                Cell::Number(quantile(samples, 0.75), 2),
                Cell::Number(median(samples) / floor, 2),
            ]),
        }
    }
    table
}
