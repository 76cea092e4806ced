//! Checks the promises of `outlive_testkit::conformance` at every place: one test for each case and place.
//!
//! The table is read when the tests are listed, so a case that is added to the table becomes a test here.

use libtest_mimic::{Arguments, Failed, Trial};
use outlive_testkit::conformance::{Case, cases};
use outlive_testkit::needs::{Need, are_met};
use outlive_testkit::place::{Local, Place};
use outlive_testkit::places::one_shot::Ways;
use outlive_testkit::places::{CmdSh, Lent, OneShot, Ssh, SweRex};
use outlive_testkit::world::World;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (place, needs, rows) in places() {
        trials.extend(
            cases()
                .into_iter()
                .map(|case| trial(&place, needs, rows, case)),
        );
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Which rows are checked each time. `cargo xtask places` checks the others.
#[derive(Clone, Copy, Debug)]
enum Rows {
    All,
    /// Those that differ most where calls and their texts are damaged.
    Some,
    None,
}

/// The rows of [`Rows::Some`].
const SAMPLE: [&str; 12] = [
    "a_name_belongs_to_one_running_job",
    "a_start_with_an_id_can_be_repeated",
    "a_job_gets_the_environment_that_was_asked_for",
    "following_prints_the_output_until_the_job_ends",
    "input_survives_a_killed_keeper",
    "pages_by_byte_are_exact",
    "prune_removes_ended_jobs_and_no_other",
    "stdout_and_stderr_can_be_told_apart",
    "stop_ends_the_whole_tree",
    "the_screen_is_what_a_person_would_see",
    "what_is_not_acked_is_told_again",
    "what_is_sent_arrives_in_order_and_eof_ends_it",
];

impl Rows {
    fn has(self, name: &str) -> bool {
        match self {
            Rows::All => true,
            Rows::Some => SAMPLE.contains(&name),
            Rows::None => false,
        }
    }
}

/// Every place, what this machine needs for it, and which rows are checked each time.
fn places() -> [(Arc<dyn Place>, &'static [Need], Rows); 7] {
    [
        (Arc::new(Local), &[], Rows::All),
        (Arc::new(CmdSh::default()), &[], Rows::All),
        (Arc::new(Ssh::default()), &[Need::Ssh], Rows::All),
        (Arc::new(OneShot::plain()), &[], Rows::None),
        (
            Arc::new(OneShot::with("rough text", Ways::rough())),
            &[],
            Rows::Some,
        ),
        (
            Arc::new(Lent::with(Ways::default(), &["--input"])),
            &[],
            Rows::None,
        ),
        (Arc::new(SweRex::default()), &[Need::SweRex], Rows::None),
    ]
}

fn trial(place: &Arc<dyn Place>, needs: &'static [Need], rows: Rows, case: Case) -> Trial {
    let place = place.clone();
    let name = format!("{}::{}", place.name(), case.name);
    let trial = Trial::test(name, move || match are_met(needs) {
        true => run(place, case),
        false => Ok(()),
    });
    trial.with_ignored_flag(!rows.has(case.name))
}

fn run(place: Arc<dyn Place>, case: Case) -> Result<(), Failed> {
    let check = || (case.check)(&World::at(place));
    // The panic itself has printed what went wrong.
    panic::catch_unwind(AssertUnwindSafe(check))
        .map_err(|_| Failed::from(format!("the promise is not kept: {}", case.promise)))
}
