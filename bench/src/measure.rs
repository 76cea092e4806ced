//! The measures, one per file, in the order in which they run.

mod capture;
mod crowd;
mod launch;
mod listing;
mod paging;
mod places;
mod rates;
mod scale;
mod scanning;
mod storm;
mod waiter;
mod watching;

use crate::BenchError;
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, Samples, median, quantile};

pub struct Measure {
    pub name: &'static str,
    pub about: &'static str,
    pub take: fn(&Bench) -> Result<Measured, BenchError>,
}

pub const MEASURES: [Measure; 11] = [
    Measure {
        name: "launch",
        about: "how long it takes to start `true` in the background",
        take: launch::take,
    },
    Measure {
        name: "waiter",
        about: "the time from the end of a job to the end of the command that waits for it",
        take: waiter::take,
    },
    Measure {
        name: "storm",
        about: "running 400 short jobs, 4 at a time, until every end is recorded",
        take: storm::take,
    },
    Measure {
        name: "crowd",
        about: "memory, launch, list and idle costs with up to 500 jobs",
        take: crowd::take,
    },
    Measure {
        name: "listing",
        about: "listing the running jobs when many ended ones are kept",
        take: listing::take,
    },
    Measure {
        name: "scale",
        about: "listing up to 3,000 running jobs, and the kernel's memory for them",
        take: scale::take,
    },
    Measure {
        name: "capture",
        about: "capturing output that a job writes as fast as it can",
        take: capture::take,
    },
    Measure {
        name: "watching",
        about: "CPU time of the keeper with and without a watch",
        take: watching::take,
    },
    Measure {
        name: "paging",
        about: "reading pages of a large log",
        take: paging::take,
    },
    Measure {
        name: "places",
        about: "jobs on a host that is reached with ssh, beside plain ssh",
        take: places::take,
    },
    Measure {
        name: "rates",
        about: "scanning, redacting and rendering, from memory",
        take: rates::take,
    },
];

/// A table of milliseconds: the median, the quartiles, and the ratio to the first row.
fn times(title: &str, samples: &[Samples]) -> Table {
    let head = ["", "median ms", "25 %", "75 %", "x floor"];
    let mut table = Table::new(title, &head);
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

/// The median of the first row.
fn floor(samples: &[Samples]) -> f64 {
    match samples.first() {
        Some((_, Ok(samples))) => median(samples),
        _ => f64::NAN,
    }
}

/// The median of the row with this name.
fn median_of(samples: &[Samples], name: &str) -> Option<f64> {
    let (_, samples) = samples.iter().find(|(one, _)| *one == name)?;
    samples.as_ref().ok().map(|samples| median(samples))
}
