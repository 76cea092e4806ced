//! The time from the end of a job to the end of the process that waits for it.

use super::{median_of, times};
use crate::BenchError;
use crate::clock::now_ns;
use crate::contender::{self, Contender, Entry, Waiting, waiting};
use crate::job::Ender;
use crate::processes::reap;
use crate::report::Measured;
use crate::run::{Bench, Between};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The time until the waiting process sleeps; it has nothing else to do.
const BEGINNING: Duration = Duration::from_millis(40);

/// The kernel alone: the job is a child of the harness, which waits for it.
const KERNEL: Entry = Entry {
    name: "floor: its parent",
    make: |_, _| Ok(Box::new(Parent(None))),
};

struct Parent(Option<Waiting>);

impl Contender for Parent {
    fn name(&self) -> &'static str {
        KERNEL.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.0 = Some(waiting(Command::new(argv[0]).args(&argv[1..]))?);
        Ok(String::new())
    }

    fn wait(&mut self, _id: &str) -> Result<Waiting, BenchError> {
        self.0.take().ok_or_else(|| "nothing was started".into())
    }
}

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    static FLOOR: Entry = KERNEL;
    let field = [&FLOOR].into_iter().chain(contender::all());
    let samples = bench.rounds(Between::Kept, field, bench.pick(60, 15), |one| {
        let ender = Ender::new(&bench.directory()?)?;
        let argv = ender.argv(&bench.me);
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        sample(one, ender, &argv)
    });
    let mut measured = Measured::default();
    let ours = median_of(&samples, "outlive").unwrap_or(f64::NAN);
    measured.verdict(
        "end to waiter",
        "≤ 1.5 ms with the sync",
        format!("{ours:.2} ms"),
        ours <= 1.5,
    );
    measured.tables.push(times(
        "from the job's last act until `wait` has returned",
        &samples,
    ));
    measured.notes.push(
        "outlive has synced the end to the disk by then; no other tool does. The floor is a parent's own \
         `waitpid`: the end of the process and one wake-up."
            .into(),
    );
    Ok(measured)
}

fn sample(one: &mut dyn Contender, ender: Ender, argv: &[&str]) -> Result<f64, BenchError> {
    let id = one.start(argv)?;
    let finish = match one.wait(&id) {
        Ok(finish) => finish,
        Err(why) => {
            ender.gate.let_one_go()?;
            return Err(why);
        }
    };
    thread::sleep(BEGINNING);
    ender.gate.let_one_go()?;
    finish()?;
    let now = now_ns();
    let ended = ender.ended_ns()?;
    reap();
    match now.checked_sub(ended) {
        Some(ns) => Ok(ns as f64 / 1e6),
        None => Err("it returned before the job had ended".into()),
    }
}
