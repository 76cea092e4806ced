//! The walk over processes that die, fork, are waited for and move between any two of its reads.

mod model;

use super::*;
use model::{Case, Model, Wrong};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

type Check = fn(&Model, Range) -> io::Result<FoundProcesses>;

/// The walk as it is.
fn walk(model: &Model, range: Range) -> io::Result<FoundProcesses> {
    find(model, range, model::KEEPER, None)
}

/// The walk as it was: one pass, and whatever it found is all there is.
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

/// A walk that is content with the first pass in which nothing vanished.
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

/// A walk that takes every descendant for the job's.
fn blind_walk(model: &Model, range: Range) -> io::Result<FoundProcesses> {
    find(&model::Unmarked(model), range, model::KEEPER, None)
}

/// Of so many, the walk that is hardest to catch (`hasty_walk`) is wrong in 14. `PROPTEST_CASES` tries more.
const CASES: u32 = 1000;

/// Which cases are tried.
#[derive(Clone, Copy)]
enum Cases {
    /// Others each time.
    Others,
    /// The same each time: a walk that is wrong must be caught in every run of the tests.
    TheSame,
}

/// Runs a walk over random cases; says what was wrong in the first where something of this sort was.
fn wrong(walk: Check, range: Range, sort: fn(&Wrong) -> bool, cases: Cases) -> Option<String> {
    let config = Config {
        cases: CASES.max(Config::default().cases),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = match cases {
        Cases::Others => TestRunner::new(config),
        Cases::TheSame => {
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
fn what_is_below_the_keeper_is_found_and_none_is_never_a_guess() {
    assert_eq!(
        wrong(walk, Range::Descendants, |_| true, Cases::Others),
        None
    );
}

#[test]
fn what_is_anywhere_is_found() {
    assert_eq!(wrong(walk, Range::Anywhere, |_| true, Cases::Others), None);
}

/// Else the two above would prove nothing.
#[test]
fn the_model_catches_a_walk_that_trusts_one_pass() {
    let sorts: [fn(&Wrong) -> bool; 2] = [
        |wrong| *wrong == Wrong::ThereWasNoneAtNoInstant,
        |wrong| matches!(wrong, Wrong::LivedAllTheWhile(_)),
    ];
    for sort in sorts {
        assert!(wrong(trusting_walk, Range::Descendants, sort, Cases::TheSame).is_some());
    }
}

#[test]
fn the_model_catches_a_walk_that_passes_once_where_nothing_vanished() {
    let missed = |wrong: &Wrong| matches!(wrong, Wrong::LivedAllTheWhile(_));
    assert!(wrong(hasty_walk, Range::Descendants, missed, Cases::TheSame).is_some());
}

#[test]
fn the_model_catches_a_walk_that_knows_no_other_jobs() {
    let stranger = |wrong: &Wrong| matches!(wrong, Wrong::NeverTheJobs(_));
    assert!(wrong(blind_walk, Range::Descendants, stranger, Cases::TheSame).is_some());
}

/// The case that a stop met: the parent dies after the keeper's list was read and before its own is.
#[test]
fn a_child_that_moves_up_behind_the_walk_is_found() {
    let model = Model::new(&Case::parent_dies_in_between());
    let found = walk(&model, Range::Descendants).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((found.processes.len(), found.sure), (1, Sure::Yes));
    let model = Model::new(&Case::parent_dies_in_between());
    let found = trusting_walk(&model, Range::Descendants);
    assert!(found.is_ok_and(|found| found.processes.is_empty()));
}
