//! Checks the promises of `outlive_testkit::conformance` at every place: one test for each case and place.
//!
//! The table is read when the tests are listed, so a case that is added to the table becomes a test here.

use libtest_mimic::{Arguments, Failed, Trial};
use outlive_testkit::conformance::{Case, cases};
use outlive_testkit::needs::{Need, are_met};
use outlive_testkit::place::{Local, Place};
use outlive_testkit::places::engine::Kind;
use outlive_testkit::places::{CmdSh, InContainer, InInstance, SharedEngine, Ssh};
use outlive_testkit::world::World;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let shared = Arc::new(SharedEngine::default());
    let mut trials = Vec::new();
    for site in sites(&shared) {
        trials.extend(cases().into_iter().map(|case| trial(&site, case)));
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    // Ends its daemon.
    drop(shared);
    conclusion.exit_code()
}

/// A kind of place.
struct Site {
    name: &'static str,
    needs: &'static [Need],
    /// Makes the place of one test.
    make: Arc<dyn Fn() -> Arc<dyn Place> + Send + Sync>,
    cases: Cases,
}

/// Which cases are part of every run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cases {
    All,
    /// A sample. The others are run by `cargo xtask places`, because each needs a container.
    Sample,
    /// None: `cargo xtask places` runs them.
    None,
}

/// Cases that differ most from place to place.
const SAMPLE: [&str; 4] = [
    "both_keepers_killed_lose_nothing",
    "stop_ends_the_whole_tree_of_an_adopted_job",
    "input_survives_a_killed_keeper",
    "what_outlives_its_command_is_counted",
];

/// Every kind of place.
fn sites(shared: &Arc<SharedEngine>) -> Vec<Site> {
    let site = |name, needs, cases, make| Site {
        name,
        needs,
        make,
        cases,
    };
    let container = |kind| -> Arc<dyn Fn() -> Arc<dyn Place> + Send + Sync> {
        let shared = shared.clone();
        Arc::new(move || Arc::new(InContainer::of(kind, shared.clone())))
    };
    vec![
        site("local", &[], Cases::All, Arc::new(|| Arc::new(Local))),
        site(
            "cmd:sh",
            &[],
            Cases::All,
            Arc::new(|| Arc::new(CmdSh::default())),
        ),
        site(
            "ssh",
            &[Need::Ssh],
            Cases::All,
            Arc::new(|| Arc::new(Ssh::default())),
        ),
        site(
            "podman",
            &[Need::Podman],
            Cases::Sample,
            container(Kind::Podman),
        ),
        site(
            "docker",
            &[Need::Docker],
            Cases::None,
            container(Kind::Docker),
        ),
        site(
            "apptainer",
            &[Need::Apptainer],
            Cases::None,
            Arc::new(|| Arc::new(InInstance::default())),
        ),
    ]
}

fn trial(site: &Site, case: Case) -> Trial {
    let (make, needs) = (site.make.clone(), site.needs);
    let name = format!("{}::{}", site.name, case.name);
    let trial = Trial::test(name, move || match are_met(needs) {
        true => run(make(), case),
        false => Ok(()),
    });
    trial.with_ignored_flag(match site.cases {
        Cases::All => false,
        Cases::Sample => !SAMPLE.contains(&case.name),
        Cases::None => true,
    })
}

fn run(place: Arc<dyn Place>, case: Case) -> Result<(), Failed> {
    let check = || (case.check)(&World::at(place));
    // The panic itself has printed what went wrong.
    panic::catch_unwind(AssertUnwindSafe(check))
        .map_err(|_| Failed::from(format!("the promise is not kept: {}", case.promise)))
}
