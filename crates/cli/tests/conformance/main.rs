//! Checks the promises of `outlive_testkit::conformance` at every kind of place: one test for each case and kind.
//!
//! The table is read when the tests are listed, so a case that is added to the table becomes a test here.

use libtest_mimic::{Arguments, Failed, Trial};
use outlive_testkit::conformance::{Case, cases};
use outlive_testkit::needs::{Need, are_met};
use outlive_testkit::place::{Local, Place};
use outlive_testkit::places::engine::Kind;
use outlive_testkit::places::one_shot::Ways;
use outlive_testkit::places::{
    CmdSh, InContainer, InInstance, Lent, OneShot, SharedEngine, Ssh, SweRex,
};
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

/// Which cases are part of every run. `cargo xtask places` runs the others.
#[derive(Clone, Copy)]
enum Cases {
    All,
    Sample(&'static [&'static str]),
    None,
}

impl Cases {
    fn has(self, name: &str) -> bool {
        match self {
            Cases::All => true,
            Cases::Sample(names) => names.contains(&name),
            Cases::None => false,
        }
    }
}

/// Cases that differ most in a container. Each needs one of its own.
const IN_CONTAINERS: &[&str] = &[
    "both_keepers_killed_lose_nothing",
    "stop_ends_the_whole_tree_of_an_adopted_job",
    "input_survives_a_killed_keeper",
    "what_outlives_its_command_is_counted",
];

/// Cases that differ most where calls and their texts are damaged.
const WITH_DAMAGE: &[&str] = &[
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

/// Every kind of place.
fn sites(shared: &Arc<SharedEngine>) -> Vec<Site> {
    let container = |name, needs, kind, cases| {
        let shared = shared.clone();
        let make = move || InContainer::of(kind, shared.clone());
        site(name, needs, cases, make)
    };
    let rough = || OneShot::with("rough text", Ways::rough());
    let lent = || Lent::with(Ways::default(), &["--input"]);
    vec![
        site("local", &[], Cases::All, || Local),
        site("cmd:sh", &[], Cases::All, CmdSh::default),
        site("ssh", &[Need::Ssh], Cases::All, Ssh::default),
        container(
            "podman",
            &[Need::Podman],
            Kind::Podman,
            Cases::Sample(IN_CONTAINERS),
        ),
        container("docker", &[Need::Docker], Kind::Docker, Cases::None),
        site(
            "apptainer",
            &[Need::Apptainer],
            Cases::None,
            InInstance::default,
        ),
        site("text", &[], Cases::None, OneShot::plain),
        site("rough text", &[], Cases::Sample(WITH_DAMAGE), rough),
        site("caller", &[], Cases::None, lent),
        site("swerex", &[Need::SweRex], Cases::None, SweRex::default),
    ]
}

fn site<P: Place + 'static>(
    name: &'static str,
    needs: &'static [Need],
    cases: Cases,
    make: impl Fn() -> P + Send + Sync + 'static,
) -> Site {
    Site {
        name,
        needs,
        make: Arc::new(move || Arc::new(make())),
        cases,
    }
}

fn trial(site: &Site, case: Case) -> Trial {
    let (make, needs) = (site.make.clone(), site.needs);
    let name = format!("{}::{}", site.name, case.name);
    let trial = Trial::test(name, move || match are_met(needs) {
        true => run(make(), case),
        false => Ok(()),
    });
    trial.with_ignored_flag(!site.cases.has(case.name))
}

fn run(place: Arc<dyn Place>, case: Case) -> Result<(), Failed> {
    let check = || (case.check)(&World::at(place));
    // The panic itself has printed what went wrong.
    panic::catch_unwind(AssertUnwindSafe(check))
        .map_err(|_| Failed::from(format!("the promise is not kept: {}", case.promise)))
}
