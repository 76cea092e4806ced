//! One case: a fault at one system call of one process of a launch.

use crate::calls::Fault;
use crate::invariants::{self, Allowed};
use crate::job::{ID, KINDS, Kind};
use crate::plan::{Launch, Plan, Role, Traced};
use crate::row::{Context, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fmt;

/// Which fault happens to which process.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    kind: usize,
    role: Role,
    at: usize,
    fault: Fault,
}

impl fmt::Display for Strike {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "a {} job, {} at call {} of its {}",
            self.kind().name,
            self.fault.word(),
            self.at,
            self.role.word()
        )
    }
}

/// Tries a fault at the calls of these processes, for every kind of job.
pub fn rows_of(context: &Context, fault: Fault, roles: &[Role], few: usize) -> Tried {
    let mut cases = Vec::new();
    for (kind, _) in KINDS.iter().enumerate() {
        // Sent input is lost when both keepers die (docs/limits.md).
        if fault == Fault::KillBoth && KINDS[kind].name == "stdin" {
            continue;
        }
        let counted = match count(context, kind) {
            Ok(counted) => counted,
            Err(loss) => {
                return Tried::lost(format!("a {} job, only traced: {loss}", KINDS[kind].name));
            }
        };
        for role in roles.iter().copied() {
            let calls = 1..=counted.count(role, fault);
            cases.extend(calls.map(|at| Strike {
                kind,
                role,
                at,
                fault,
            }));
        }
    }
    context.try_cases(cases, few, |strike| strike.check(context))
}

/// Runs a launch without a fault, to count the calls of its processes.
fn count(context: &Context, kind: usize) -> Result<Traced, String> {
    let world = context.world()?;
    let kind = &KINDS[kind];
    let mut launch = Launch::start(&world, &kind.start(&world), Plan::COUNT)?;
    launch.launched(&world)?;
    kind.go_on(&world)?;
    launch.end()
}

impl Strike {
    fn kind(&self) -> &'static Kind {
        &KINDS[self.kind]
    }

    fn check(&self, context: &Context) -> Result<(), String> {
        let world = context.world()?;
        let plan = Plan {
            role: Some(self.role),
            at: self.at,
            fault: self.fault,
        };
        let mut launch = Launch::start(&world, &self.kind().start(&world), plan)?;
        let launched = launch.launched(&world)?;
        let checked = match world.job_dir(ID).exists() {
            true => self.check_launched(&world, &launched, &mut launch),
            false => launch
                .end()
                .and_then(|_| self.check_failed_launch(&world, &launched)),
        };
        checked.map_err(|loss| self.describe(&world, &launch.struck, &launched, &loss))
    }

    fn check_launched(
        &self,
        world: &World,
        launched: &Ran,
        launch: &mut Launch,
    ) -> Result<(), String> {
        let ended = self.kind().go_on(world);
        let traced = launch.end();
        let (ended, traced) = (ended?, traced?);
        // Only the last of several attempts may not have been started.
        let is_started = ended["outcome"]["kind"] != "not_started"
            || ended["attempt"].as_u64().is_some_and(|last| last > 1);
        self.check_code(launched, is_started)?;
        invariants::check(world, self.kind(), &ended, self.allowed(&traced))
    }

    /// Which deviations from the exact result this fault allows.
    fn allowed(&self, traced: &Traced) -> Allowed {
        match (self.role, self.fault) {
            (_, Fault::KillBoth) => Allowed::Lost,
            (Role::Launcher, Fault::Interrupted) => Allowed::Exact,
            (Role::Launcher, _) => Allowed::NotStarted,
            // The standby was killed before a keeper existed to replace it.
            (Role::Standby, Fault::Kill) if !traced.has_keeper => Allowed::NotStarted,
            (_, Fault::Kill | Fault::Interrupted) => Allowed::Exact,
            (_, Fault::NoSpace | Fault::Broken) => Allowed::Gaps,
            (_, Fault::NoDescriptor | Fault::TryAgain) => Allowed::Scarce,
        }
    }

    /// Checks the launcher's exit code. 0 means that the job was started. A launcher that was not hit by the fault
    /// must report a started job as started.
    fn check_code(&self, launched: &Ran, is_started: bool) -> Result<(), String> {
        // If both keepers died, the launcher cannot know whether the job started.
        let is_victim = self.role == Role::Launcher || self.fault == Fault::KillBoth;
        match (launched.code == 0, is_started) {
            (true, true) | (false, false) => Ok(()),
            // It waited for its turn when the fault came, and its launcher had told so.
            (true, false) if self.role != Role::Launcher && self.kind().waits() => Ok(()),
            (false, true) if is_victim => Ok(()),
            (true, false) => {
                Err("the launcher reports a start, but the job was not started".to_owned())
            }
            (false, true) => {
                Err("the launcher reports a failed start, but the job was started".to_owned())
            }
        }
    }

    fn check_failed_launch(&self, world: &World, launched: &Ran) -> Result<(), String> {
        let says_so = match self.fault {
            Fault::Kill => launched.code == 137,
            _ => launched.code == 125 && !launched.stderr.is_empty(),
        };
        match says_so {
            true => invariants::check_never_was(world, self.kind()),
            false => Err("a failed launch does not report that it failed".to_owned()),
        }
    }

    fn describe(&self, world: &World, at: &str, launched: &Ran, loss: &str) -> String {
        let journal = std::fs::read_to_string(world.job_dir(ID).join("journal"));
        format!(
            "at {at}: {loss}\nthe launcher: {launched}\nleft: {:?}\njournal:\n{}",
            world.files(),
            journal.unwrap_or_default()
        )
    }
}
