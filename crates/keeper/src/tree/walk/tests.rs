//! Tests of the walk over processes that die, fork, are reaped and move between any two of its reads.

mod model;

use super::*;
use model::{Case, Model, Wrong};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

type Check = fn(&Model, Range) -> io::Result<FoundProcesses>;

/// The real walk.
fn walk(model: &Model, range: Range) -> io::Result<FoundProcesses> {
    find(model, range, model::KEEPER, None)
}

/// A walk that trusts one pass.
fn trusting_walk(model: &Model, range: Range) -> io::Result<FoundProcesses> {
    let found = Walk {
        processes: model,
        range,
        keeper: model::KEEPER,
        ended: None,
        past: HashSet::new(),
    }
    .pass()?
    .living;
    let mut processes = HashSet::new();
    for process in found {
        let look = model.look(process.pid)?;
        if look.is_some_and(|look| !look.ended) {
            processes.insert(process);
        }
    }
    Ok(FoundProcesses {
        processes,
        sure: Sure::Yes,
    })
}

/// A walk that trusts the first pass in which nothing vanished.
fn hasty_walk(model: &Model, range: Range) -> io::Result<FoundProcesses> {
    let mut walk = Walk {
        processes: model,
        range,
        keeper: model::KEEPER,
        ended: None,
        past: HashSet::new(),
    };
    loop {
        let pass = walk.pass()?;
        if !pass.vanished {
            return Ok(FoundProcesses {
                processes: pass.living,
                sure: Sure::Yes,
            });
        }
    }
}

/// A walk that takes every descendant for one of the job's.
fn blind_walk(model: &Model, range: Range) -> io::Result<FoundProcesses> {
    find(&model::Unmarked(model), range, model::KEEPER, None)
}

/// In this many cases, the walk that is hardest to catch (`hasty_walk`) is wrong 14 times. `PROPTEST_CASES` can raise
/// the number.
const CASES: u32 = 1000;

/// Which cases are tried.
#[derive(Clone, Copy)]
enum Cases {
    /// Different ones each time.
    Random,
    /// The same ones each time, because every run of the tests must catch a wrong walk.
    Fixed,
}

/// Runs a walk over random cases. Returns the first mistake of this sort, if there is any.
fn wrong(walk: Check, range: Range, sort: fn(&Wrong) -> bool, cases: Cases) -> Option<String> {
    let config = Config {
        cases: CASES.max(Config::default().cases),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = match cases {
        Cases::Random => TestRunner::new(config),
        Cases::Fixed => {
            TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
        }
    };
    let run = runner.run(&model::case(range), |case| {
        let model = Model::new(&case);
        let found = walk(&model, range).expect("a model can always be read");
        let wrong = model.judge(&found, range);
        match wrong.into_iter().find(sort) {
            Some(wrong) => Err(TestCaseError::fail(format!("{wrong:?}"))),
            None => Ok(()),
        }
    });
    match run {
        Ok(()) => None,
        Err(TestError::Fail(why, case)) => Some(format!("{why}: {case:?}")),
        Err(TestError::Abort(why)) => panic!("no cases were tried: {why}"),
    }
}

#[test]
fn descendants_are_found_and_none_is_never_a_guess() {
    assert_eq!(
        wrong(walk, Range::Descendants, |_| true, Cases::Random),
        None
    );
}

#[test]
fn processes_anywhere_are_found() {
    assert_eq!(wrong(walk, Range::Anywhere, |_| true, Cases::Random), None);
}

/// Otherwise the two tests above would prove nothing.
#[test]
fn the_model_catches_a_walk_that_trusts_one_pass() {
    let sorts: [fn(&Wrong) -> bool; 2] = [
        |wrong| *wrong == Wrong::NoneFoundThoughSomeLived,
        |wrong| matches!(wrong, Wrong::MissedSurvivor(_)),
    ];
    for sort in sorts {
        assert!(wrong(trusting_walk, Range::Descendants, sort, Cases::Fixed).is_some());
    }
}

#[test]
fn the_model_catches_a_walk_that_trusts_a_quiet_pass() {
    let missed = |wrong: &Wrong| matches!(wrong, Wrong::MissedSurvivor(_));
    assert!(wrong(hasty_walk, Range::Descendants, missed, Cases::Fixed).is_some());
}

#[test]
fn the_model_catches_a_walk_that_ignores_marks() {
    let stranger = |wrong: &Wrong| matches!(wrong, Wrong::NotOfTheJob(_));
    assert!(wrong(blind_walk, Range::Descendants, stranger, Cases::Fixed).is_some());
}

/// A case from real use: the parent dies after the keeper's list of children was read and before the parent's list is
/// read.
#[test]
fn a_child_that_moves_up_behind_the_walk_is_found() {
    let model = Model::new(&Case::parent_dies_in_between());
    let found = walk(&model, Range::Descendants).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((found.processes.len(), found.sure), (1, Sure::Yes));
    let model = Model::new(&Case::parent_dies_in_between());
    let found = trusting_walk(&model, Range::Descendants);
    assert!(found.is_ok_and(|found| found.processes.is_empty()));
}
