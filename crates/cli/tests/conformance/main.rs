//! Checks the promises of `outlive_testkit::conformance` at every place: one test for each case and place.
//!
//! The table is read when the tests are listed, so a case that is added to the table becomes a test here.

use libtest_mimic::{Arguments, Failed, Trial};
use outlive_testkit::conformance::{Case, cases};
use outlive_testkit::place::{Local, Place};
use outlive_testkit::world::World;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let places: [Arc<dyn Place>; 1] = [Arc::new(Local)];
    let mut trials = Vec::new();
    for place in places {
        trials.extend(cases().into_iter().map(|case| trial(&place, case)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(place: &Arc<dyn Place>, case: Case) -> Trial {
    let place = place.clone();
    let name = format!("{}::{}", place.name(), case.name);
    Trial::test(name, move || run(place, case))
}

fn run(place: Arc<dyn Place>, case: Case) -> Result<(), Failed> {
    let check = || (case.check)(&World::at(place));
    // The panic itself has printed what went wrong.
    panic::catch_unwind(AssertUnwindSafe(check))
        .map_err(|_| Failed::from(format!("the promise is not kept: {}", case.promise)))
}
