//! Checks how limits on jobs are enforced here, as a keeper decides it.

use super::{Check, Verdict};
use crate::launch::scope::{self, ScopePlan, Surroundings};
use outlive_sys::cgroup::{self, Membership};

const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// What a keeper would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// In the job's own scope.
    Scope,
    Version2,
    /// Which of the controllers of version 1 can be used.
    Version1([bool; 3]),
    Nothing,
}

pub fn check() -> Check {
    let found = find();
    let (verdict, means) = meaning(found);
    Check {
        name: "job limits".into(),
        verdict,
        found: words(found),
        means: means.into(),
    }
}

fn find() -> Found {
    let here = Membership::own().unwrap_or_default();
    let leaves = matches!(
        scope::surroundings(),
        Surroundings::Owned(_, ScopePlan::Leave(_))
    );
    let unified = here.unified.as_ref();
    // systemd manages version 2 if no controller is in a hierarchy of version 1.
    let has_old = CONTROLLERS.map(|controller| here.separate(controller).is_some());
    if leaves && unified.is_some() && has_old == [false; 3] {
        return Found::Scope;
    }
    // `parent_for` may turn controllers on, which only a start should do. So the most modest question is asked.
    if unified.is_some_and(|place| place.may_have_parent_for(&CONTROLLERS)) {
        return Found::Version2;
    }
    let usable =
        CONTROLLERS.map(|controller| here.separate(controller).is_some_and(cgroup::is_writable));
    match usable {
        [false, false, false] => Found::Nothing,
        usable => Found::Version1(usable),
    }
}

fn words(found: Found) -> String {
    match found {
        Found::Scope => "control groups of version 2, in a scope of systemd".to_owned(),
        Found::Version2 => "control groups of version 2".to_owned(),
        Found::Version1(usable) => {
            let named = CONTROLLERS.iter().zip(usable);
            let named = named.filter_map(|(name, usable)| usable.then_some(*name));
            let named: Vec<&str> = named.collect();
            format!("control groups of version 1: {}", named.join(", "))
        }
        Found::Nothing => "no control group can be made".to_owned(),
    }
}

fn meaning(found: Found) -> (Verdict, &'static str) {
    match found {
        Found::Scope | Found::Version2 => (
            Verdict::Good,
            "--memory, --cpus and --pids hold for a job as a whole, and the kernel kills all of a job that is out of memory",
        ),
        Found::Version1([true, true, true]) => (
            Verdict::Good,
            "--memory, --cpus and --pids hold for a job as a whole; of one that is out of memory the kernel kills a process, and its keeper the rest",
        ),
        Found::Version1([true, ..]) => (
            Verdict::Less,
            "--memory holds for a job as a whole; a job with a limit that has no control group is not started",
        ),
        Found::Version1([false, ..]) | Found::Nothing => (
            Verdict::Less,
            "--memory limits the address space of each process alone; a job with --cpus or --pids is not started unless it has a control group for that",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_enforced_for_the_whole_job_is_less() {
        for (found, verdict) in [
            (Found::Scope, Verdict::Good),
            (Found::Version2, Verdict::Good),
            (Found::Version1([true; 3]), Verdict::Good),
            (Found::Version1([true, false, true]), Verdict::Less),
            (Found::Version1([false, true, true]), Verdict::Less),
            (Found::Nothing, Verdict::Less),
        ] {
            assert_eq!(meaning(found).0, verdict, "{found:?}");
        }
    }
}
