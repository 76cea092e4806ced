//! A hundred jobs, and what a connection costs while nothing happens.

use super::site::Site;
use crate::BenchError;
use crate::clock::timed;
use crate::contender::by_hands;
use crate::measure::{median_of, times};
use crate::processes;
use crate::report::{Cell, Measured, Table};
use crate::run::{Bench, Samples};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const JOBS: usize = 100;

/// How many start jobs at the same time.
const HANDS: usize = 4;

pub fn take(bench: &Bench, site: &Site, measured: &mut Measured) -> Result<(), BenchError> {
    let place = site.place();
    let mut samples: Vec<Samples> = [
        "started here",
        "started there",
        "stopped and waited for, here",
        "stopped and waited for, there",
    ]
    .map(|name| (name, Ok(Vec::new())))
    .into();
    for _ in 0..bench.pick(5, 1) {
        for (at, options) in [(0, &[][..]), (1, &["--place", place.as_str()])] {
            let (started, stopped) = hundred(site, options)?;
            for (row, ms) in [(at, started), (at + 2, stopped)] {
                if let Ok(taken) = &mut samples[row].1 {
                    taken.push(ms);
                }
            }
        }
    }
    let of = |name| median_of(&samples, name).unwrap_or(f64::NAN);
    let ratio = of("started there") / of("started here");
    measured.verdict(
        "places: 100 jobs started",
        "≤ 1.2 x here",
        format!("{ratio:.2}x"),
        ratio <= 1.2,
    );
    let stopped = of("stopped and waited for, there");
    measured.verdict(
        "places: 100 jobs stopped",
        "≤ 300 ms",
        format!("{stopped:.0} ms"),
        stopped <= 300.0,
    );
    measured
        .tables
        .push(times("100 jobs, four at a time", &samples));
    idle(site, measured)
}

fn hundred(site: &Site, options: &[&str]) -> Result<(f64, f64), BenchError> {
    let ids = Mutex::new(Vec::new());
    let (started, done) = timed(|| {
        by_hands(JOBS, HANDS, |_| {
            let id = site.ok(&[&["run"], options, &["--", "sleep", "1000000"]].concat())?;
            ids.lock().map_err(|error| error.to_string())?.push(id);
            Ok(())
        })
    });
    done?;
    let ids = ids.into_inner().map_err(|error| error.to_string())?;
    let words: Vec<&str> = ["stop"]
        .into_iter()
        .chain(ids.iter().map(String::as_str))
        .collect();
    let (stopped, done) = timed(|| site.ok(&words));
    done.map(|_| (started, stopped))
}

/// Memory and wake-ups of the courier and the far end while nothing happens.
fn idle(site: &Site, measured: &mut Measured) -> Result<(), BenchError> {
    let place = site.place();
    let id = site.ok(&["run", "--place", &place, "--", "sleep", "1000000"])?;
    let mut waiter = site.outlive(&["wait", &id]);
    let waiter = waiter.spawn();
    thread::sleep(Duration::from_secs(1));
    let mut table = Table::new(
        "an idle connection, for 5 s",
        &["", "processes", "own memory kB", "wake-ups"],
    );
    let mut courier = f64::NAN;
    for (name, pids) in [("courier", site.couriers()), ("far end", site.far_ends())] {
        let before = processes::activity(&pids);
        thread::sleep(Duration::from_secs(5));
        let runs = processes::activity(&pids).since(before);
        let memory = processes::memory(&pids).private_dirty as f64;
        if name == "courier" {
            courier = memory;
        }
        table.row([
            Cell::text(name),
            Cell::Number(pids.len() as f64, 0),
            Cell::Number(memory, 0),
            Cell::Number(runs.runs as f64, 0),
        ]);
    }
    measured.verdict(
        "places: an idle courier",
        "≤ 300 kB of its own",
        format!("{courier:.0} kB"),
        courier <= 300.0,
    );
    measured.tables.push(table);
    site.ok(&["stop", &id])?;
    if let Ok(mut waiter) = waiter {
        waiter.wait().map_err(|error| error.to_string())?;
    }
    Ok(())
}
