//! The promises of Outlive as a table of cases that can be checked at every place.
//!
//! A case starts jobs at the place, does something to them, and panics if a promise is not kept. It uses only what
//! exists at every place: the verbs of `outlive` here, the job's journal (which a far place copies to this machine),
//! and [`Place`](crate::place::Place) for processes and files there.
//!
//! `crates/cli/tests/conformance` runs the table, one test per case and place.

mod endings;
mod identity;
mod inbox;
mod input;
mod kills;
mod output;
mod reading;
mod restarting;
mod steps;
mod stopping;
mod terminal;
mod waiting;

use crate::world::World;

/// One promise, and how to find out whether it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Unique, and a good name for a test.
    pub name: &'static str,
    /// What a user may rely on.
    pub promise: &'static str,
    /// The steps, and what must hold. Panics if it does not.
    pub check: fn(&World),
}

/// Every case.
pub fn cases() -> Vec<Case> {
    [
        endings::CASES,
        output::CASES,
        reading::CASES,
        input::CASES,
        terminal::CASES,
        waiting::CASES,
        stopping::CASES,
        restarting::CASES,
        identity::CASES,
        inbox::CASES,
        kills::CASES,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let cases = cases();
        let names: HashSet<&str> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len());
    }
}
