//! Checks the promises of `outlive_testkit::conformance` at every place: one test for each case and place.
//!
//! The table is read when the tests are listed, so a case that is added to the table becomes a test here.

use libtest_mimic::{Arguments, Failed, Trial};
use outlive_testkit::conformance::{Case, cases};
use outlive_testkit::needs::{Need, are_met};
use outlive_testkit::place::{Local, Place};
use outlive_testkit::places::one_shot::Ways;
use outlive_testkit::places::{CmdSh, Lent, OneShot, Ssh};
use outlive_testkit::world::World;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (place, needs) in places() {
        trials.extend(cases().into_iter().map(|case| trial(&place, needs, case)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Every place, and what this machine needs for it.
fn places() -> [(Arc<dyn Place>, &'static [Need]); 6] {
    [
        (Arc::new(Local), &[]),
        (Arc::new(CmdSh::default()), &[]),
        (Arc::new(Ssh::default()), &[Need::Ssh]),
        (Arc::new(OneShot::plain()), &[]),
        (Arc::new(Lent::with(Ways::default(), &["--input"])), &[]),
        (Arc::new(OneShot::with("rough text", Ways::rough())), &[]),
    ]
}

fn trial(place: &Arc<dyn Place>, needs: &'static [Need], case: Case) -> Trial {
    let place = place.clone();
    let name = format!("{}::{}", place.name(), case.name);
    Trial::test(name, move || match are_met(needs) {
        true => run(place, case),
        false => Ok(()),
    })
}

fn run(place: Arc<dyn Place>, case: Case) -> Result<(), Failed> {
    let check = || (case.check)(&World::at(place));
    // The panic itself has printed what went wrong.
    panic::catch_unwind(AssertUnwindSafe(check))
        .map_err(|_| Failed::from(format!("the promise is not kept: {}", case.promise)))
}
