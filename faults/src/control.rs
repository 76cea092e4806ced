//! The row in which no fault is injected. If something is lost here, the checks themselves are wrong.

use crate::invariants::{self, Allowed};
use crate::job::KINDS;
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "control: no fault",
        promise: "every kind of job ends as it should",
        run,
    }]
}

fn run(context: &Context) -> Tried {
    context.try_cases((0..KINDS.len()).map(Case).collect(), KINDS.len(), |case| {
        let kind = &KINDS[case.0];
        let world = context.world()?;
        let started = Ran::try_of(&mut kind.start(&world))?;
        if started.code != 0 {
            return Err(format!("it could not be started: {started}"));
        }
        let ended = kind.go_on(&world)?;
        invariants::check(&world, kind, &ended, Allowed::Exact)
    })
}

struct Case(usize);

impl std::fmt::Display for Case {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "a {} job", KINDS[self.0].name)
    }
}
